import { CannotShow, RetryLater } from "chat-bridge-kit";
import { LRUCache } from "lru-cache";
import { ChannelUnable } from "./channel-unable";

/** One or more lines to one target. */
export interface Post {
  /**
   * Id under which the journal counts the sent lines, e.g. the id of the event. Posts with the same id are treated as
   * one post.
   */
  readonly id: string;
  readonly command: "PRIVMSG" | "NOTICE";
  /** A nick or a channel, in the server's lower case. */
  readonly target: string;
  readonly lines: readonly string[];
  /** Maximum bytes per line with which the message was divided into lines. The journal stores this number. */
  readonly lineBytes?: number | undefined;
  /** Whether the lines are sent before the lines to other targets, e.g. because they are a question. */
  readonly isUrgent?: boolean;
  /**
   * Time after which the outbox must not start to send the post, ms since the epoch; null if the post never expires.
   */
  readonly expiresAtMs: number | null;
}

/**
 * When lines to a target can be sent: now, soon, after a longer wait, when an operator changes something (`unable`), or
 * never.
 */
export type Readiness =
  | "now"
  | "soon"
  | "later"
  | { readonly unable: string; readonly never?: undefined }
  | { readonly never: string };

/** The error of a post whose remaining lines were canceled. */
export class Canceled extends Error {
  constructor() {
    super("a newer event has replaced the lines");
  }
}

/** A post with lines that are not yet sent, or not yet confirmed. */
export interface QueuedPost extends Post {
  /** Index of the next line to send. */
  next: number;
  /** Number of lines that the server has confirmed. */
  confirmed: number;
  /** Whether lines must not be sent again if the connection is lost. */
  isCanceled: boolean;
  readonly done: Promise<void>;
  readonly settle: (error?: Error) => void;
}

/** The posts to one target that can be sent now. */
interface Lane {
  readonly key: string;
  readonly first: QueuedPost;
  rank: number;
}

export const RETRY_MS = 10_000;
/** A bridge that was kicked is back after a few seconds. */
const REJOIN_RETRY_MS = 3_000;
/** Maximum number of posts. With posts of 100 lines, the largest that the settings allow, the lines take 20 MB. */
const POSTS_MAX = 500;
/** Maximum number of posts to one target, and of notices to all targets together. */
const POSTS_PER_TARGET_MAX = 100;
const NOTICES_MAX = 300;
/** Number of lines after which another target of the same rank is served. */
const LINES_PER_TURN = 3;
const TURNS_MAX = 1_000;

/**
 * The posts that are not done yet. The posts to one target are sent in the order in which they were added. Targets with
 * an urgent post come first, then other targets, and notices last. Targets of the same rank take turns.
 */
export class PostQueue {
  readonly #posts = new Map<string, QueuedPost>();
  readonly #readiness: (target: string) => Readiness;
  /** The number of the last turn of each target. Keyed like `Lane`. */
  readonly #turns = new LRUCache<string, number>({ max: TURNS_MAX });
  #turn = { key: "", number: 0, lines: 0 };

  constructor(readiness: (target: string) => Readiness) {
    this.#readiness = readiness;
  }

  get size(): number {
    return this.#posts.size;
  }

  get(id: string): QueuedPost | undefined {
    return this.#posts.get(id);
  }

  all(): readonly QueuedPost[] {
    return [...this.#posts.values()];
  }

  /** Returns whether there is room for a post. */
  hasRoomFor({ command, target }: Pick<Post, "command" | "target">): boolean {
    const all = this.all();
    const isNotice = command === "NOTICE";
    return (
      all.length < POSTS_MAX &&
      all.filter((post) => post.target === target).length < POSTS_PER_TARGET_MAX &&
      !(isNotice && all.filter((post) => post.command === "NOTICE").length >= NOTICES_MAX)
    );
  }

  /**
   * Adds a post whose first `sent` lines were sent before. Returns a promise that resolves when all lines are
   * confirmed.
   */
  add(post: Post, sent: number): Promise<void> {
    let settle: QueuedPost["settle"] = () => undefined;
    const done = new Promise<void>((resolve, reject) => {
      settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.#posts.set(post.id, { ...post, next: sent, confirmed: sent, isCanceled: false, done, settle });
    return done;
  }

  /** Removes a post. Resolves the post's promise, or rejects it with `error` if given. */
  settle(post: QueuedPost, error?: Error): void {
    this.#posts.delete(post.id);
    post.settle(error);
  }

  /** Drops the unsent lines of a post. The promise of the post then rejects with `Canceled`. */
  cancel(id: string): void {
    const post = this.#posts.get(id);
    if (post === undefined) return;
    post.isCanceled = true;
    if (post.next < post.lines.length) this.settle(post, new Canceled());
  }

  /** Counts a confirmed line. */
  confirm(post: QueuedPost | undefined): void {
    if (post === undefined) return;
    post.confirmed += 1;
    if (post.confirmed >= post.lines.length) this.settle(post);
  }

  /** Returns the post whose next line must be sent first. Rejects posts that cannot be sent. */
  next(): QueuedPost | undefined {
    const [best] = this.#lanes().toSorted(
      (a, b) => a.rank - b.rank || this.#lastTurnOf(a) - this.#lastTurnOf(b),
    );
    return best?.first;
  }

  /** Must be called when the next line of a post is sent. */
  noteLine({ command, target }: QueuedPost): void {
    const key = keyOf({ command, target });
    const { number, lines } = this.#turn;
    if (this.#turn.key === key && lines < LINES_PER_TURN) this.#turn = { key, number, lines: lines + 1 };
    else this.#turn = { key, number: number + 1, lines: 1 };
    this.#turns.set(key, this.#turn.number);
  }

  /** Returns the number of a target's last turn; 0 before its first turn, and -1 during its turn. */
  #lastTurnOf({ key, first }: Lane): number {
    const goesOn = this.#turn.key === key && this.#turn.lines < LINES_PER_TURN && first.next > 0;
    return goesOn ? -1 : (this.#turns.get(key) ?? 0);
  }

  /** Returns the targets to which lines can be sent now, with their first posts. Rejects posts that cannot be sent. */
  #lanes(): readonly Lane[] {
    const lanes = new Map<string, Lane>();
    const waiting = new Set<string>();
    for (const post of this.#posts.values()) {
      const key = keyOf(post);
      if (post.next >= post.lines.length || waiting.has(key)) continue;
      const rank = rankOf(post);
      const lane = lanes.get(key);
      // The lines of one target stay in order, so an urgent post also makes the earlier posts to its target urgent.
      if (lane !== undefined) lane.rank = Math.min(lane.rank, rank);
      else if (this.#canSend(post)) lanes.set(key, { key, first: post, rank });
      else if (this.#posts.has(post.id)) waiting.add(key);
    }
    return [...lanes.values()];
  }

  /** Returns whether the next line of a post can be sent now. Rejects the post if it cannot be sent. */
  #canSend(post: QueuedPost): boolean {
    if (post.next === 0 && post.expiresAtMs !== null && post.expiresAtMs < Date.now()) {
      this.settle(post, new CannotShow("the event expired before the server accepted it"));
      return false;
    }
    const ready = this.#readiness(post.target);
    if (ready === "now" || ready === "soon") return ready === "now";
    this.settle(post, errorFor(ready));
    return false;
  }
}

function errorFor(ready: Exclude<Readiness, "now" | "soon">): Error {
  if (ready === "later") return new RetryLater(REJOIN_RETRY_MS, "the bridge is not in the channel");
  return ready.never === undefined ? new ChannelUnable(ready.unable) : new CannotShow(ready.never);
}

function keyOf({ command, target }: Pick<Post, "command" | "target">): string {
  return `${command} ${target}`;
}

function rankOf({ command, isUrgent }: Post): number {
  if (command === "NOTICE") return 2;
  return isUrgent === true ? 0 : 1;
}
