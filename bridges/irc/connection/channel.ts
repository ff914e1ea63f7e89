import type { Logger } from "chat-bridge-runner";
import type { WantedChannel } from "./channel-list";
import type { Outbox } from "./outbox";
import type { Readiness } from "./post-queue";

type State =
  | { readonly is: "offline" }
  | { readonly is: "joining"; readonly timer: NodeJS.Timeout }
  | { readonly is: "joined" }
  /** Without `timer`, the bridge rejoins only after an invitation. */
  | { readonly is: "out"; readonly timer: NodeJS.Timeout | undefined };

/**
 * A server can repeat a line, or answer a `JOIN` late. If the bridge fails before it joins a channel, e.g. because a
 * file cannot be written, the channel stays offline until the next connection.
 */
const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  offline: ["joining", "joined", "out", "offline"],
  joining: ["joining", "joined", "out", "offline"],
  joined: ["joined", "out", "offline"],
  out: ["joining", "joined", "out", "offline"],
};

interface ChannelParts {
  readonly outbox: Pick<Outbox, "control" | "wake">;
  readonly log: Logger;
}

const ANSWER_WITHIN_MS = 15_000;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;
const REJOIN_MS = 5_000;
const KICKS_MAX = 3;
const KICKS_WITHIN_MS = 3_600_000;
/** Milliseconds after which messages for a channel are dropped if the bridge has not joined it. */
const DROP_AFTER_MS = 600_000;

/**
 * A channel that the bridge joins, and rejoins after a lost connection, a rejection or a kick.
 *
 *     offline ──join()──▶ joining ──accepted()──▶ joined
 *        ▲                 │   ▲                   │
 *        │        rejected()   join()              │
 *        │                 ▼   │                   │
 *        │                 out ◀─────removed()─────┘
 *        └─disconnected()─ joining, joined, out
 */
export class Channel {
  readonly wanted: WantedChannel;
  /** Whether the bridge joins the channel because of an invitation, and not because of its settings. */
  readonly isInvited: boolean;
  readonly #parts: ChannelParts;
  #state: State = { is: "offline" };
  /** Time at which the bridge connected or last left the channel, whichever is later, in ms of a monotonic clock. */
  #outSinceMs = performance.now();
  /** Number of consecutive attempts to join that failed. */
  #failures = 0;
  /** Times at which the bridge was removed from the channel, ms of a monotonic clock. */
  #removals: number[] = [];

  constructor(wanted: WantedChannel, isInvited: boolean, parts: ChannelParts) {
    this.wanted = wanted;
    this.isInvited = isInvited;
    this.#parts = parts;
  }

  get isJoined(): boolean {
    return this.#state.is === "joined";
  }

  readiness(): Readiness {
    const { is } = this.#state;
    if (is === "joined") return "now";
    if (is === "joining" || is === "offline") return "soon";
    if (this.#removals.length > KICKS_MAX) return { never: "the bridge was removed from the channel" };
    if (this.#failures > 0 && performance.now() - this.#outSinceMs > DROP_AFTER_MS) {
      return { never: "the bridge cannot join the channel" };
    }
    return "later";
  }

  join(): void {
    this.#enter({ is: "joining", timer: setTimeout(() => this.#failed("no answer"), ANSWER_WITHIN_MS) });
    const { name, key } = this.wanted;
    this.#parts.outbox.control(`JOIN ${name}${key === undefined ? "" : ` ${key}`}`);
  }

  /** Joins the channel after an invitation, even if the bridge was removed too often. */
  joinInvited(): void {
    this.#removals = [];
    this.join();
  }

  accepted(): void {
    this.#failures = 0;
    this.#parts.log.info({ channel: this.wanted.name }, "joined a channel");
    this.#enter({ is: "joined" });
  }

  /** Called when the server rejects a `JOIN`. */
  rejected(reason: string): void {
    if (this.#state.is === "joining") this.#failed(reason);
  }

  removed(by: "kick" | "part"): void {
    const now = performance.now();
    this.#removals = [...this.#removals.filter((at) => now - at < KICKS_WITHIN_MS), now];
    const { log } = this.#parts;
    const channel = this.wanted.name;
    if (this.#removals.length > KICKS_MAX) {
      this.#enter({ is: "out", timer: undefined });
      log.error({ channel }, "removed from a channel too often: joining again only after an invitation");
      return;
    }
    const waitMs = REJOIN_MS * 3 ** (this.#removals.length - 1);
    log.warn({ channel, by, waitMs }, "removed from a channel: joining again");
    this.#joinAfter(waitMs);
  }

  disconnected(): void {
    this.#enter({ is: "offline" });
  }

  #failed(reason: string): void {
    this.#failures += 1;
    const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
    this.#parts.log.warn(
      { channel: this.wanted.name, reason, waitMs },
      "cannot join a channel: trying again",
    );
    this.#joinAfter(waitMs);
  }

  #joinAfter(waitMs: number): void {
    this.#enter({ is: "out", timer: setTimeout(() => this.join(), waitMs) });
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a channel cannot change from ${is} to ${next.is}`);
    if ("timer" in this.#state) clearTimeout(this.#state.timer);
    if (is === "joined" || is === "offline") this.#outSinceMs = performance.now();
    this.#state = next;
    this.#parts.outbox.wake();
  }
}
