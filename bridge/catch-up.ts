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
 * The chat tool, as the bridge's author binds it. Whatever rejects is a refusal; a
 * number `retryAfterMs` on the error says how long the chat wants to be left alone.
 * `signal` is aborted when the time is up.
 */
export interface Chat {
  /** Posts `event.message` in `event.channel` and resolves to the chat's own id of the message. */
  post(event: MessageCreate, signal: AbortSignal): Promise<string>;
  /** Opens or reuses a direct conversation with `event.user`, and else is like `post`. */
  dm(event: DmCreate, signal: AbortSignal): Promise<string>;
  /** Replaces text, buttons and image of the message that `post` or `dm` resolved to. */
  edit(chatMessageId: string, event: MessageUpdate, signal: AbortSignal): Promise<void>;
  /** Shows `event.message` to `event.user` alone in `event.channel`; by DM or post where the chat cannot. */
  ephemeral(event: MessageEphemeral, signal: AbortSignal): Promise<void>;
}

export interface CatchUpOptions {
  readonly chat: Chat;
  /** What a former run kept, if anything. */
  readonly state?: BridgeState;
  /** What takes the chat longer counts as refused; 30,000 ms by default. */
  readonly chatTimeoutMs?: number;
  /** Told of each event that changes nothing in the chat, and of missed ones. */
  readonly onEffect?: (effect: Exclude<BridgeEffect, ForChat>) => void;
  /** Told why the chat refused. By default it is a warning of the process. */
  readonly report?: (problem: Error) => void;
}

/** Keeps the chat of one workspace as its events say. */
export interface CatchUp {
  /** The `handle` of a receiver. Resolves when the event is taken: at once, unless too much is under way. */
  handleEvent(event: OutboundEvent): Promise<void>;
  /** The `handle` of a poller. Rejects when the cursor must not pass the page, so that it comes again. */
  handlePage(page: EventPage): Promise<void>;
  readonly state: BridgeState;
  /** Begins nothing more, and resolves when the chat has answered what was begun. */
  close(): Promise<void>;
}

type ForChat = Exclude<BridgeEffect, { type: "skip" | "missed" }>;

/** How long an event waits before it is tried again for want of room. */
const FULL_PAUSE_MS = 100;

/** Drives `reduce` with a chat, the clock and a timer. */
export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { chat, chatTimeoutMs = 30_000, onEffect = () => undefined, report = warn } = options;
  const calls = new Set<Promise<void>>();
  let state = options.state ?? initialState();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** The `next` of the last page, where that told of a gap: while nothing comes, each further page tells of it again. */
  let missedAt: string | null | undefined;

  function feed(input: BridgeInput): readonly BridgeEffect[] {
    const { effects, wakeAtMs, ...reduced } = reduce(state, input);
    ({ state } = reduced);
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

  /** Resolves at the first answer or at the time-out. What succeeds after that is taken note of all the same. */
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
        if (isClosed) throw new Error("closed: the event is not taken");
        return feed({ type: "events", events: [event], nowMs: Date.now() });
      };
      while (isFull(offer())) await sleep(FULL_PAUSE_MS);
    },
    async handlePage({ events, gap, next }) {
      if (isClosed) throw new Error("closed: the page is not taken");
      const effects = feed({ type: "events", events, gap: gap && next !== missedAt, nowMs: Date.now() });
      missedAt = gap ? next : undefined;
      await untilNothingIsBegun();
      if (isFull(effects) || !isSettled(state)) {
        throw new Error("the chat has not taken all that the page creates");
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
