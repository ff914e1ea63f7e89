import { setTimeout as sleep } from "node:timers/promises";
import { RetryLater } from "chat-bridge-kit";
import type { Journal } from "../state/journal";
import type { FloodGate } from "./flood-gate";
import { Canceled, PostQueue, RETRY_MS, type Post, type QueuedPost, type Readiness } from "./post-queue";
import { SentLines } from "./sent-lines";

export interface OutboxParts {
  /** Writes a line to the connection. Called only between `up` and `down`. */
  write(line: string): void;
  readonly gate: FloodGate;
  readonly journal: Pick<Journal, "sentOf" | "noteSent">;
  readiness(target: string): Readiness;
  /** Called when the server has confirmed a line to a target. */
  delivered?(target: string): void;
}

/** When this many posts are pending, the outbox drops hints to members. */
const POSTS_MAX_FOR_HINTS = 20;
const CONTROLS_MAX = 200;
/** Number of lines of the burst that notices must leave free for lines that the whole channel sees. */
const NOTICE_RESERVE = 2;
/** Maximum number of lines that are sent but not yet confirmed. */
const UNCONFIRMED_MAX = 40;
/** Number of unconfirmed lines after which a `PING` is sent before further lines. */
const PING_AFTER_LINES = 6;
/** Milliseconds within which an echo should arrive. If no echo arrives, the bridge sends a `PING`. */
const ECHO_WITHIN_MS = 2_000;

/** A line that is sent only if the flood gate keeps at least `reserve` tokens for other lines. */
interface Step {
  readonly reserve: number;
  run(): void;
}

/**
 * Sends lines over the connection, within the limits of the flood gate. A post is done when the server has confirmed
 * all its lines. If the connection is lost before that, the unconfirmed lines are sent again.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #posts: PostQueue;
  readonly #controls: string[] = [];
  readonly #sent = new SentLines<QueuedPost>();
  /** The connection, between `up` and `down`. */
  #connection: { readonly hasEcho: boolean } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#posts = new PostQueue((target) => parts.readiness(target));
  }

  /**
   * Sends the lines of a post. Resolves when the server has confirmed all lines. Rejects with `RetryLater` if the
   * target stays unavailable, or if too many posts are waiting. Rejects with `CannotShow` if a retry is useless, and
   * with `Canceled` after `cancel`.
   */
  post(post: Post): Promise<void> {
    const known = this.#posts.get(post.id);
    if (known !== undefined) return known.done;
    const sent = this.#parts.journal.sentOf(post.id);
    if (sent >= post.lines.length) return Promise.resolve();
    if (!this.#posts.hasRoomFor(post))
      return Promise.reject(new RetryLater(RETRY_MS, "too many lines are waiting"));
    const done = this.#posts.add(post, sent);
    this.wake();
    return done;
  }

  /** Drops the unsent lines of a post, because a newer event has replaced them. */
  cancel(id: string): void {
    this.#posts.cancel(id);
    this.wake();
  }

  /** Sends a hint to a member, unless many lines are waiting. */
  hint(post: Post): void {
    if (this.#posts.size < POSTS_MAX_FOR_HINTS) this.post(post).catch(() => undefined);
  }

  /** Sends a protocol command ahead of all posts. */
  control(line: string): void {
    if (this.#controls.length < CONTROLS_MAX) this.#controls.push(line);
    this.wake();
  }

  /** Called when the connection can send lines. */
  up(connection: { readonly hasEcho: boolean }): void {
    this.#connection = connection;
    this.wake();
  }

  /** Called when the connection is lost. Unconfirmed lines are sent again over the next connection. */
  down(): void {
    this.#connection = undefined;
    clearTimeout(this.#timer);
    this.#controls.length = 0;
    this.#sent.clear();
    for (const post of this.#posts.all()) {
      if (post.next === post.confirmed) continue;
      post.next = post.confirmed;
      this.#noteSent(post);
      if (post.isCanceled) this.#posts.settle(post, new Canceled());
    }
  }

  /** Called with the token of each answer to a `PING`. */
  ponged(token: string): void {
    for (const post of this.#sent.ponged(token)) this.#confirm(post);
    this.wake();
  }

  /** Called when the server echoes a line of this bridge. */
  echoed(target: string, text: string): void {
    this.#confirm(this.#sent.echoed(target, text));
    this.wake();
  }

  /** Called when the server refuses a line, with the target of the line. */
  refused(target: string, error: Error): void {
    const post = this.#sent.refused(target);
    if (post === undefined || this.#posts.get(post.id) === undefined) return;
    post.next = post.confirmed;
    this.#noteSent(post);
    this.#posts.settle(post, error);
  }

  /** Resolves when all posts are done, or after `withinMs` at the latest. */
  async drain(withinMs: number): Promise<void> {
    const all = Promise.allSettled(this.#posts.all().map(({ done }) => done));
    const late = new AbortController();
    await Promise.race([all, sleep(withinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  /** Sends the lines that can be sent now. Must be called when the readiness of a target may have changed. */
  wake(): void {
    clearTimeout(this.#timer);
    const { gate } = this.#parts;
    while (this.#connection !== undefined) {
      const step = this.#nextStep(this.#connection.hasEcho);
      if (typeof step === "object" && gate.tryTake(step.reserve)) step.run();
      else if (!this.#pingEarly(this.#connection.hasEcho)) {
        const waitMs = typeof step === "object" ? gate.waitMs(step.reserve) : step;
        if (waitMs !== undefined) this.#timer = setTimeout(() => this.wake(), waitMs);
        return;
      }
    }
  }

  /**
   * Returns the next step, or the milliseconds to wait before the next step. Returns undefined if the outbox must wait
   * for an event.
   */
  #nextStep(hasEcho: boolean): Step | number | undefined {
    const ping: Step = { reserve: 0, run: () => this.#ping() };
    if (this.#controls.length > 0) {
      return { reserve: 0, run: () => this.#parts.write(this.#controls.shift() ?? "") };
    }
    const pingIn = this.#pingInMs(hasEcho);
    if (pingIn === 0 && this.#sent.unpinged().length >= PING_AFTER_LINES) return ping;
    const post = this.#sent.size < UNCONFIRMED_MAX ? this.#posts.next() : undefined;
    if (post !== undefined) {
      const reserve = post.command === "NOTICE" ? NOTICE_RESERVE : 0;
      return { reserve, run: () => this.#sendLine(post) };
    }
    return pingIn === 0 ? ping : pingIn;
  }

  /**
   * Sends a `PING` without waiting for the flood gate if no line is waiting, or if several lines are unconfirmed.
   * Members see unconfirmed lines twice if the connection is lost, so the confirmation is urgent. Returns whether the
   * function sent a `PING`.
   */
  #pingEarly(hasEcho: boolean): boolean {
    const unpinged = this.#sent.unpinged().length;
    const isLate = unpinged >= PING_AFTER_LINES || (unpinged > 0 && this.#posts.next() === undefined);
    if (this.#pingInMs(hasEcho) !== 0 || !isLate || !this.#parts.gate.tryBorrow()) return false;
    this.#ping();
    return true;
  }

  /**
   * Returns the milliseconds until a `PING` is due; undefined if no line needs a `PING`. The answer to a `PING`
   * confirms lines that no echo has confirmed.
   */
  #pingInMs(hasEcho: boolean): number | undefined {
    const [oldest] = this.#sent.unpinged();
    if (oldest === undefined) return undefined;
    return hasEcho ? Math.max(0, oldest.atMs + ECHO_WITHIN_MS - Date.now()) : 0;
  }

  #confirm(post: QueuedPost | undefined): void {
    this.#posts.confirm(post);
    if (post !== undefined) this.#parts.delivered?.(post.target);
  }

  #ping(): void {
    this.#parts.write(`PING ${this.#sent.addPing()}`);
  }

  #sendLine(post: QueuedPost): void {
    const text = post.lines[post.next] ?? "";
    this.#posts.noteLine(post);
    post.next += 1;
    // The journal notes the line before the line is sent. If the outbox noted the line only afterwards, and the bridge
    // were killed between the two steps, the next run would repeat the line.
    this.#noteSent(post);
    this.#parts.write(`${post.command} ${post.target} :${text}`);
    this.#sent.add({ post, target: post.target, text, atMs: Date.now() });
  }

  #noteSent({ id, next, lineBytes }: QueuedPost): void {
    this.#parts.journal.noteSent(id, next, lineBytes);
  }
}
