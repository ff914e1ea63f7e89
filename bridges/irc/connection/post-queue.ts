import { CannotShow, RetryLater } from "chat-bridge-kit";

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
  /**
   * Time after which the outbox must not start to send the post, ms since the epoch; null if the post never expires.
   */
  readonly expiresAtMs: number | null;
}

/** When lines to a target can be sent: now, soon, after a longer wait, or never. */
export type Readiness = "now" | "soon" | "later" | { readonly never: string };

/** A post with lines that are not yet sent, or not yet confirmed. */
export interface QueuedPost extends Post {
  /** Index of the next line to send. */
  next: number;
  /** Number of lines that the server has confirmed. */
  confirmed: number;
  readonly done: Promise<void>;
  readonly settle: (error?: Error) => void;
}

export const RETRY_MS = 10_000;

/** The posts that are not done, in the order in which they were added. The outbox limits the number of posts. */
export class PostQueue {
  readonly #posts = new Map<string, QueuedPost>();
  readonly #readiness: (target: string) => Readiness;

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

  /**
   * Adds a post whose first `sent` lines were sent before. Returns a promise that resolves when all lines are
   * confirmed.
   */
  add(post: Post, sent: number): Promise<void> {
    let settle: QueuedPost["settle"] = () => undefined;
    const done = new Promise<void>((resolve, reject) => {
      settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.#posts.set(post.id, { ...post, next: sent, confirmed: sent, done, settle });
    return done;
  }

  /** Removes a post. Resolves the post's promise, or rejects it with `error` if given. */
  settle(post: QueuedPost, error?: Error): void {
    this.#posts.delete(post.id);
    post.settle(error);
  }

  /** Counts a confirmed line. */
  confirm(post: QueuedPost | undefined): void {
    if (post === undefined) return;
    post.confirmed += 1;
    if (post.confirmed >= post.lines.length) this.settle(post);
  }

  /**
   * Returns the first post with a line that can be sent now. Notices come last, because replies to single members must
   * not delay the lines for a whole channel.
   */
  next(): QueuedPost | undefined {
    return this.#nextOf("PRIVMSG") ?? this.#nextOf("NOTICE");
  }

  /** Returns the first post with this command whose next line can be sent now. Rejects posts that cannot be sent. */
  #nextOf(command: Post["command"]): QueuedPost | undefined {
    const waiting = new Set<string>();
    for (const post of this.#posts.values()) {
      if (post.command !== command) continue;
      if (post.next >= post.lines.length || waiting.has(post.target)) continue;
      if (post.next === 0 && post.expiresAtMs !== null && post.expiresAtMs < Date.now()) {
        this.settle(post, new CannotShow("the event expired before the server accepted it"));
        continue;
      }
      const ready = this.#readiness(post.target);
      if (ready === "now") return post;
      if (ready === "later") this.settle(post, new RetryLater(RETRY_MS, "the bridge is not in the channel"));
      else if (ready !== "soon") this.settle(post, new CannotShow(ready.never));
      waiting.add(post.target);
    }
    return undefined;
  }
}
