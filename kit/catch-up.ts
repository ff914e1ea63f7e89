import { setTimeout as sleep } from "node:timers/promises";
import { TIMER_MOST_MS } from "./back-off";
import type {
  DmCreate,
  EventPage,
  MessageCreate,
  MessageEphemeral,
  MessageUpdate,
  OutboundEvent,
} from "./events";
import { errorOf, warn } from "./problem";
import { reduce } from "./reduce";
import type { BridgeEffect, BridgeInput } from "./reduce-effect";
import { initialState, isSettled, type BridgeState } from "./reduce-state";

/**
 * Calls to the chat tool, for the bridge's author to implement. A call that rejects counts as refused by the
 * chat. The error may have a property `retryAfterMs`: the minimum wait before a retry.
 * `signal` is aborted after `chatTimeoutMs`.
 */
export interface Chat {
  /** Posts `event.message` in `event.channel` and resolves to the chat's id of the message. */
  post(event: MessageCreate, signal: AbortSignal): Promise<string>;
  /** Posts `event.message` in a direct conversation with `event.user`, and resolves to the chat's id of the message. */
  dm(event: DmCreate, signal: AbortSignal): Promise<string>;
  /** Replaces the text, buttons and image of a message. `chatMessageId` is the result of `post` or `dm`. */
  edit(chatMessageId: string, event: MessageUpdate, signal: AbortSignal): Promise<void>;
  /** Shows `event.message` in `event.channel` only to `event.user`. If the chat cannot do that, uses a DM or a post. */
  ephemeral(event: MessageEphemeral, signal: AbortSignal): Promise<void>;
}

export interface CatchUpOptions {
  readonly chat: Chat;
  /** State that a previous run saved. */
  readonly state?: BridgeState;
  /** Milliseconds after which a call to the chat counts as refused; 30,000 by default. */
  readonly chatTimeoutMs?: number;
  /** Called for each event that changes nothing in the chat, and when events expired before they were fetched. */
  readonly onEffect?: (effect: Exclude<BridgeEffect, ForChat>) => void;
  /** Called after each change of the state. */
  readonly onState?: (state: BridgeState) => void;
  /** Called with the reason for each refusal by the chat. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
}

/** Applies the events of one workspace to its chat. */
export interface CatchUp {
  /** The `handle` of a receiver. Resolves once `state` has the event. Waits only while too many events are pending. */
  handleEvent(event: OutboundEvent): Promise<void>;
  /** The `handle` of a poller. Rejects when the cursor must not move past the page: the page is then polled again. */
  handlePage(page: EventPage): Promise<void>;
  readonly state: BridgeState;
  /** Starts no more calls to the chat, and resolves when all pending calls are answered. */
  close(): Promise<void>;
}

type ForChat = Exclude<BridgeEffect, { type: "skip" | "missed" }>;

/** Milliseconds after which an event that was skipped as `full` is passed to `reduce` again. */
const FULL_PAUSE_MS = 100;

/** Returns a `CatchUp`, which connects `reduce` to a chat, the clock and a timer. */
export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { chat, chatTimeoutMs = 30_000, report = warn } = options;
  const { onEffect = () => undefined, onState = () => undefined } = options;
  const calls = new Set<Promise<void>>();
  let state = options.state ?? initialState();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /**
   * `next` of the last page, if that page had a gap. Until new events are held, each further page has the same `next`
   * and reports the same gap again.
   */
  let missedAt: string | null | undefined;

  function feed(input: BridgeInput): readonly BridgeEffect[] {
    const { effects, wakeAtMs, ...reduced } = reduce(state, input);
    ({ state } = reduced);
    onState(state);
    clearTimeout(timer);
    if (isClosed) return effects;
    if (wakeAtMs !== undefined) {
      const inMs = Math.min(Math.max(0, wakeAtMs - Date.now()), TIMER_MOST_MS);
      timer = setTimeout(() => feed({ type: "time", nowMs: Date.now() }), inMs);
    }
    for (const effect of effects) if (isForChat(effect)) begin(effect);
    for (const effect of effects) if (!isForChat(effect)) onEffect(effect);
    return effects;
  }

  function begin(effect: ForChat): void {
    const call = untilAnswered(effect).finally(() => calls.delete(call));
    calls.add(call);
  }

  /** Resolves at the first answer or at the timeout. A success after the timeout still updates the state. */
  function untilAnswered(effect: ForChat): Promise<void> {
    const { id: eventId, type } = effect.event;
    const signal = AbortSignal.timeout(Math.min(chatTimeoutMs, TIMER_MOST_MS));
    return new Promise((resolve) => {
      let isAnswered = false;
      const answer = (outcome: BridgeInput) => {
        isAnswered = true;
        feed(outcome);
        resolve();
      };
      const refuse = (error: unknown) => {
        if (isAnswered) return;
        report(errorOf(`the chat refused ${type} ${eventId}`, error));
        // The chat may have refused the event because it is stopping too. The event stays open: the next run repeats it.
        if (isClosed) return resolve();
        answer({ type: "refused", eventId, ...retryAfterOf(error), nowMs: Date.now() });
      };
      signal.addEventListener("abort", () => refuse(signal.reason));
      callChat(effect, signal).then(answer, refuse);
    });
  }

  async function callChat(effect: ForChat, signal: AbortSignal): Promise<BridgeInput> {
    const eventId = effect.event.id;
    switch (effect.type) {
      case "post":
      case "dm": {
        const chatMessageId = await (effect.type === "dm"
          ? chat.dm(effect.event, signal)
          : chat.post(effect.event, signal));
        return { type: "posted", eventId, chatMessageId, nowMs: Date.now() };
      }
      case "edit":
        await chat.edit(effect.chatMessageId, effect.event, signal);
        break;
      case "ephemeral":
        await chat.ephemeral(effect.event, signal);
        break;
    }
    return { type: "done", eventId, nowMs: Date.now() };
  }

  async function untilNothingIsBegun(): Promise<void> {
    while (calls.size > 0) await Promise.all(calls);
  }

  return {
    get state() {
      return state;
    },
    async handleEvent(event) {
      const offer = () => {
        if (isClosed) throw new Error("the catch-up is closed: the event was not accepted");
        return feed({ type: "events", events: [event], nowMs: Date.now() });
      };
      while (isFull(offer())) await sleep(FULL_PAUSE_MS);
    },
    async handlePage({ events, gap, next }) {
      if (isClosed) throw new Error("the catch-up is closed: the page was not accepted");
      const effects = feed({ type: "events", events, gap: gap && next !== missedAt, nowMs: Date.now() });
      missedAt = gap ? next : undefined;
      await untilNothingIsBegun();
      if (isFull(effects) || !isSettled(state)) {
        throw new Error("the chat has not accepted all events of the page");
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await untilNothingIsBegun();
    },
  };
}

function isFull(effects: readonly BridgeEffect[]): boolean {
  return effects.some((effect) => effect.type === "skip" && effect.reason === "full");
}

function isForChat(effect: BridgeEffect): effect is ForChat {
  return effect.type !== "skip" && effect.type !== "missed";
}

function retryAfterOf(error: unknown): { readonly retryAfterMs?: number } {
  if (typeof error !== "object" || error === null || !("retryAfterMs" in error)) return {};
  const { retryAfterMs } = error;
  return typeof retryAfterMs === "number" && retryAfterMs > 0 ? { retryAfterMs } : {};
}
