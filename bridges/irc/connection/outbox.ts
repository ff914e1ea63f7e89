import { setTimeout as sleep } from "node:timers/promises";
import { CannotShow, RetryLater } from "chat-bridge-kit";
import type { Journal } from "../state/journal";
import type { FloodGate } from "./flood-gate";
import { createSentLines } from "./sent-lines";

/** Some lines to one target. */
export interface Post {
  /**
   * Id under which the journal counts the sent lines, e.g. the id of the event. Posts with the same id count as one
   * post.
   */
  readonly id: string;
  readonly command: "PRIVMSG" | "NOTICE";
  /** A nick or a channel, in the server's lower case. */
  readonly target: string;
  readonly lines: readonly string[];
  /** Time after which the post must not begin, ms since the epoch; null for never. */
  readonly expiresAtMs: number | null;
}

/** Whether lines to a target can be sent: now, soon, after a longer wait, or never. */
export type Readiness = "now" | "soon" | "later" | { readonly never: string };

export interface OutboxParts {
  /** Writes a line to the connection. Called only between `up` and `down`. */
  write(line: string): void;
  readonly gate: FloodGate;
  readonly journal: Pick<Journal, "sentOf" | "noteSent">;
  readiness(target: string): Readiness;
}

interface Job extends Post {
  /** Index of the next line to send. */
  next: number;
  confirmed: number;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const JOBS_MAX = 500;
/** Number of pending jobs at which hints to members are dropped. */
const JOBS_MAX_FOR_HINTS = 20;
const CONTROLS_MAX = 200;
/** Maximum number of lines that are sent and not confirmed. */
const UNCONFIRMED_MAX = 40;
/** Number of unconfirmed lines after which a `PING` is sent before further lines. */
const PING_AFTER_LINES = 6;
/** Milliseconds within which an echo should arrive. If no echo arrives, the bridge sends a `PING`. */
const ECHO_WITHIN_MS = 2_000;
const RETRY_MS = 10_000;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Sends lines over the connection, within the limits of the flood gate. A post is done when the server has confirmed
 * all its lines. If the connection is lost before that, the unconfirmed lines are sent again.
 */
export function createOutbox({ write, gate, journal, readiness }: OutboxParts) {
  /** Jobs by the id of the post, in the order of the posts. */
  const jobs = new Map<string, Job>();
  const controls: string[] = [];
  const sent = createSentLines<Job>();
  let isUp = false;
  let hasEcho = false;
  let timer: NodeJS.Timeout | undefined;

  function settle(job: Job, error?: Error): void {
    jobs.delete(job.id);
    if (error === undefined) job.resolve();
    else job.reject(error);
  }

  function confirm(job: Job | undefined): void {
    if (job === undefined) return;
    job.confirmed += 1;
    if (job.confirmed >= job.lines.length) settle(job);
  }

  /**
   * Returns the first job with a line that can be sent now. Notices come last, because replies to single members must
   * not delay the lines for a whole channel.
   */
  function nextJob(): Job | undefined {
    return nextOf("PRIVMSG") ?? nextOf("NOTICE");
  }

  /** Returns the first job with this command whose next line can be sent now. Rejects jobs that cannot be sent. */
  function nextOf(command: Post["command"]): Job | undefined {
    const waiting = new Set<string>();
    for (const job of jobs.values()) {
      if (job.command !== command) continue;
      if (job.next >= job.lines.length || waiting.has(job.target)) continue;
      if (job.next === 0 && job.expiresAtMs !== null && job.expiresAtMs < Date.now()) {
        settle(job, new CannotShow("the event expired before the server accepted it"));
        continue;
      }
      const ready = readiness(job.target);
      if (ready === "now") return job;
      if (ready === "later") settle(job, new RetryLater(RETRY_MS, "the bridge is not in the channel"));
      else if (ready !== "soon") settle(job, new CannotShow(ready.never));
      waiting.add(job.target);
    }
    return undefined;
  }

  /**
   * Returns the milliseconds until a `PING` is due; undefined if no line needs a `PING`. The answer to a `PING`
   * confirms lines that no echo has confirmed.
   */
  function pingInMs(): number | undefined {
    const [oldest] = sent.unpinged();
    if (oldest === undefined) return undefined;
    return hasEcho ? Math.max(0, oldest.atMs + ECHO_WITHIN_MS - Date.now()) : 0;
  }

  function ping(): void {
    write(`PING ${sent.addPing()}`);
  }

  /**
   * Sends a `PING` without waiting for the flood gate if no line is waiting, or if several lines are unconfirmed.
   * Members see unconfirmed lines twice if the connection is lost, so the confirmation is urgent. Returns whether the
   * function sent a `PING`.
   */
  function pingEarly(): boolean {
    const unpinged = sent.unpinged().length;
    const isLate = unpinged >= PING_AFTER_LINES || (unpinged > 0 && nextJob() === undefined);
    if (pingInMs() !== 0 || !isLate || !gate.tryBorrow()) return false;
    ping();
    return true;
  }

  /** Returns a function that sends the next line; a number of milliseconds to wait; or undefined to wait for events. */
  function nextStep(): (() => void) | number | undefined {
    if (controls.length > 0) return () => write(controls.shift() ?? "");
    const pingIn = pingInMs();
    if (pingIn === 0 && sent.unpinged().length >= PING_AFTER_LINES) return ping;
    const job = sent.size() < UNCONFIRMED_MAX ? nextJob() : undefined;
    if (job !== undefined) return () => sendLine(job);
    return pingIn === 0 ? ping : pingIn;
  }

  function sendLine(job: Job): void {
    const text = job.lines[job.next] ?? "";
    job.next += 1;
    // The system call that sends the line wakes the server, so a kill is more likely after the call than before the
    // call. The journal notes the line first, so that such a kill does not repeat the line.
    journal.noteSent(job.id, job.next);
    write(`${job.command} ${job.target} :${text}`);
    sent.add({ job, target: job.target, text, atMs: Date.now() });
  }

  function pump(): void {
    clearTimeout(timer);
    for (;;) {
      if (!isUp) return;
      const step = nextStep();
      if (typeof step === "function" && gate.tryTake()) step();
      else if (!pingEarly()) {
        const waitMs = typeof step === "function" ? gate.waitMs() : step;
        if (waitMs !== undefined) timer = setTimeout(pump, waitMs);
        return;
      }
    }
  }

  return {
    /**
     * Sends the lines of a post. Resolves when the server has confirmed all lines. Rejects with `RetryLater` if the
     * target stays unavailable, or if too many posts are waiting. Rejects with `CannotShow` if a retry is useless.
     */
    post(post: Post): Promise<void> {
      const known = jobs.get(post.id);
      if (known !== undefined) return known.done;
      const next = journal.sentOf(post.id);
      if (next >= post.lines.length) return Promise.resolve();
      if (jobs.size >= JOBS_MAX)
        return Promise.reject(new RetryLater(RETRY_MS, "too many lines are waiting"));
      const { promise: done, resolve, reject } = withResolvers();
      jobs.set(post.id, { ...post, next, confirmed: next, done, resolve, reject });
      pump();
      return done;
    },
    /** Sends a hint to a member, unless many lines are waiting. */
    hint(post: Post): void {
      if (jobs.size < JOBS_MAX_FOR_HINTS) this.post(post).catch(() => undefined);
    },
    /** Sends a protocol command ahead of all posts. */
    control(line: string): void {
      if (controls.length < CONTROLS_MAX) controls.push(line);
      pump();
    },
    /** Called when the connection can send lines. */
    up(connection: { readonly hasEcho: boolean }): void {
      ({ hasEcho } = connection);
      isUp = true;
      pump();
    },
    /** Called when the connection is lost. Unconfirmed lines are sent again over the next connection. */
    down(): void {
      isUp = false;
      clearTimeout(timer);
      controls.length = 0;
      sent.clear();
      for (const job of jobs.values()) {
        if (job.next === job.confirmed) continue;
        job.next = job.confirmed;
        journal.noteSent(job.id, job.next);
      }
    },
    /** Called when the readiness of a target may have changed. */
    wake: pump,
    ponged(token: string): void {
      for (const job of sent.ponged(token)) confirm(job);
      pump();
    },
    /** Called when the server echoes a line of this bridge. */
    echoed(target: string, text: string): void {
      confirm(sent.echoed(target, text));
      pump();
    },
    /** Called when the server refuses a line to a target. */
    refused(target: string, error: Error): void {
      const job = sent.refused(target);
      if (job === undefined || !jobs.has(job.id)) return;
      journal.noteSent(job.id, job.confirmed);
      settle(job, error);
    },
    /** Resolves when all posts are done, but after at most `withinMs`. */
    async drain(withinMs: number): Promise<void> {
      const all = Promise.allSettled([...jobs.values()].map(({ done }) => done));
      const late = new AbortController();
      await Promise.race([all, sleep(withinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
    },
  };
}

function withResolvers() {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
