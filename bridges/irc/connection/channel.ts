import type { Logger } from "chat-bridge-runner";
import type { WantedChannel } from "./channel-list";
import type { Outbox } from "./outbox";
import type { Readiness } from "./post-queue";

type State =
  | { readonly is: "offline" }
  | { readonly is: "joining"; readonly timer: NodeJS.Timeout }
  | { readonly is: "joined" }
  /** The server refuses lines to the channel. */
  | { readonly is: "silent"; readonly problem: string; readonly timer: NodeJS.Timeout }
  /** The next line that the bridge sends shows whether the server still refuses lines. */
  | { readonly is: "retrying"; readonly problem: string }
  | Out;

interface Out {
  readonly is: "out";
  readonly problem: string;
  /** Whether the bridge cannot join until an operator changes something. */
  readonly isUnable: boolean;
  /** Without `timer`, the bridge rejoins only after an invitation. */
  readonly timer: NodeJS.Timeout | undefined;
}

/**
 * The states that can follow each state. A server can repeat a line, or answer a `JOIN` late. If the bridge fails
 * before it joins a channel, e.g. because a file cannot be written, the channel stays offline until the next
 * connection.
 */
const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  offline: ["joining", "joined", "out", "offline"],
  joining: ["joining", "joined", "out", "offline"],
  joined: ["joined", "silent", "out", "offline"],
  silent: ["silent", "retrying", "joined", "out", "offline"],
  retrying: ["silent", "joined", "out", "offline"],
  out: ["joining", "joined", "out", "offline"],
};

interface ChannelParts {
  readonly outbox: Pick<Outbox, "control" | "wake">;
  readonly log: Logger;
  /** The current nick of the bridge. */
  ownNick(): string;
  /** Called when the server begins to refuse lines to the channel. */
  onSilent(channel: Channel): void;
  /** Called when lines to the channel can be sent again. */
  onWritable(channel: Channel): void;
}

const ANSWER_WITHIN_MS = 15_000;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;
const REJOIN_MS = 5_000;
/** Milliseconds after which the bridge tries again to write to a channel whose modes have not changed. */
const SILENT_RETRY_MS = 60_000;
const KICKS_MAX = 3;
const KICKS_WITHIN_MS = 3_600_000;
/** Milliseconds after which messages for a channel are dropped if the bridge has not joined it. */
const DROP_AFTER_MS = 600_000;

/**
 * A channel that the bridge joins, and rejoins after a lost connection, a rejection or a kick.
 *
 *     offline ──join()──▶ joining ──accepted()──▶ joined ◀──delivered()── retrying
 *        ▲                 │   ▲                   │   │                   ▲   │
 *        │        rejected()   join()              │   │     modesChanged()   refused()
 *        │                 ▼   │                   │   └──refused()──▶ silent ◀┘
 *        │                 out ◀─────removed()─────┴── silent, retrying
 *        └─disconnected()─ joining, joined, silent, retrying, out
 *
 * The end of a mode that kept the bridge from writing leads from `silent` directly to `joined`.
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

  /** Whether the bridge is in the channel. */
  get isJoined(): boolean {
    return isIn(this.#state);
  }

  /** The number of consecutive attempts to join that failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Reason why the bridge cannot print the games' messages in the channel; undefined if it can. */
  get problem(): string | undefined {
    const state = this.#state;
    if ("problem" in state) return state.problem;
    return state.is === "joined" ? undefined : "the bridge has not joined the channel yet";
  }

  /**
   * Reason why the server refuses lines to the channel; undefined if it accepts lines, or if the bridge is not in the
   * channel.
   */
  get silence(): string | undefined {
    const state = this.#state;
    return state.is === "silent" || state.is === "retrying" ? state.problem : undefined;
  }

  /**
   * Returns when lines to the channel can be sent. After a kick, the bridge is back within seconds, so lines wait. If
   * the server rejects a `JOIN` or a line because of a mode or a ban, only an operator can change that, so lines do not
   * wait.
   */
  readiness(): Readiness {
    const state = this.#state;
    if (state.is === "joined" || state.is === "retrying") return "now";
    if (state.is === "joining" || state.is === "offline") return "soon";
    if (state.is === "silent" || state.isUnable) return { unable: state.problem };
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

  /**
   * Called when the server rejects a `JOIN`.
   *
   * @param isForNow whether the server may accept the next `JOIN` even if no operator changes anything
   */
  rejected(reason: string, isForNow: boolean): void {
    if (this.#state.is === "joining") this.#failed(reason, !isForNow);
  }

  removed(by: "kick" | "part"): void {
    const now = performance.now();
    this.#removals = [...this.#removals.filter((at) => now - at < KICKS_WITHIN_MS), now];
    const { log } = this.#parts;
    const channel = this.wanted.name;
    if (this.#removals.length > KICKS_MAX) {
      const problem =
        "the bridge was removed from the channel too often: it rejoins only after an invitation";
      this.#enter({ is: "out", problem, isUnable: true, timer: undefined });
      log.error({ channel }, "removed from a channel too often: joining again only after an invitation");
      return;
    }
    const waitMs = REJOIN_MS * 3 ** (this.#removals.length - 1);
    log.warn({ channel, by, waitMs }, "removed from a channel: joining again");
    this.#joinAfter(waitMs, "the bridge was removed from the channel, and rejoins soon", false);
  }

  /** Called when the server refuses a line to the channel. */
  refused(reason: string): void {
    const { is } = this.#state;
    if (is !== "joined" && is !== "retrying") return;
    const { name } = this.wanted;
    const remedy = `give the bridge voice (/mode ${name} +v ${this.#parts.ownNick()}), or lift the ban`;
    this.#beSilent(`the server refuses the bridge's lines (${reason}): ${remedy}`);
    // If the server also refuses the retry, nothing has changed, and the log already contains this line.
    if (is === "retrying") return;
    this.#parts.log.warn({ channel: name, reason }, `the bridge cannot write in a channel: ${remedy}`);
    // The answer to `MODE` says whether the channel is moderated.
    this.#parts.outbox.control(`MODE ${name}`);
    this.#parts.onSilent(this);
  }

  /** Called when the server lists the modes of a moderated channel. */
  isModerated(): void {
    if (this.#state.is !== "silent") return;
    const voice = `give it voice (/mode ${this.wanted.name} +v ${this.#parts.ownNick()})`;
    this.#beSilent(`the channel is moderated (+m) and the bridge has no voice: ${voice}`);
  }

  /**
   * Called when the modes of the channel have changed.
   *
   * @param isFreed whether the bridge has been given voice, or the channel is no longer moderated
   */
  modesChanged(isFreed: boolean): void {
    if (this.silence === undefined) return;
    if (isFreed) this.#speaksAgain();
    else this.#retry();
  }

  /** Called when the server has delivered a line to the channel. */
  delivered(): void {
    if (this.#state.is === "retrying") this.#speaksAgain();
  }

  disconnected(): void {
    this.#enter({ is: "offline" });
  }

  #beSilent(problem: string): void {
    this.#enter({ is: "silent", problem, timer: setTimeout(() => this.#retry(), SILENT_RETRY_MS) });
  }

  #retry(): void {
    if (this.#state.is === "silent") this.#enter({ is: "retrying", problem: this.#state.problem });
  }

  #speaksAgain(): void {
    this.#parts.log.info({ channel: this.wanted.name }, "the bridge can write in a channel again");
    this.#enter({ is: "joined" });
  }

  #failed(reason: string, isUnable = false): void {
    this.#failures += 1;
    const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
    this.#parts.log.warn(
      { channel: this.wanted.name, reason, waitMs },
      "cannot join a channel: trying again",
    );
    this.#joinAfter(waitMs, `the bridge cannot join the channel: ${reason}`, isUnable);
  }

  #joinAfter(waitMs: number, problem: string, isUnable: boolean): void {
    this.#enter({ is: "out", problem, isUnable, timer: setTimeout(() => this.join(), waitMs) });
  }

  #enter(next: State): void {
    const before = this.#state;
    if (!NEXT[before.is].includes(next.is)) {
      throw new Error(`a channel cannot change from ${before.is} to ${next.is}`);
    }
    if ("timer" in before) clearTimeout(before.timer);
    if (before.is === "offline" || (isIn(before) && !isIn(next))) this.#outSinceMs = performance.now();
    this.#state = next;
    this.#parts.outbox.wake();
    if (next.is === "retrying" || (next.is === "joined" && before.is !== "joined")) {
      this.#parts.onWritable(this);
    }
  }
}

function isIn({ is }: State): boolean {
  return is === "joined" || is === "silent" || is === "retrying";
}
