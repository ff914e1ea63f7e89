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
import type { PageProgress, UnfinishedPage } from "./page-progress";
import { errorOf, reasonOf, warn } from "./problem";
import { reduce } from "./reduce";
import type { BridgeEffect, BridgeInput } from "./reduce-effect";
import { hasRoom, placeOf, skipKeys } from "./reduce-places";
import { cursorHolders, initialState, isSettled, type BridgeState, type CursorHolders } from "./reduce-state";
import { WaitingPlaces, type WaitingPlace } from "./waiting-places";

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
  /**
   * Shows `event.message` in `event.channel` only to `event.user`. If the chat cannot show a message to one member
   * only, sends a DM or posts in the channel.
   */
  ephemeral(event: MessageEphemeral, signal: AbortSignal): Promise<void>;
}

export interface CatchUpOptions {
  readonly chat: Chat;
  /** State that a previous run saved. */
  readonly state?: BridgeState;
  /** Milliseconds after which a call to the chat counts as refused; 30,000 by default. */
  readonly chatTimeoutMs?: number;
  /**
   * Called for each event that changes nothing in the chat, e.g. an update that the chat refused, and when events
   * expired before they were fetched.
   */
  readonly onEffect?: (effect: Exclude<BridgeEffect, ForChat>) => void;
  /** Called after each change of the state. */
  readonly onState?: (state: BridgeState) => void;
  /** Called with the reason for each refusal by the chat. The default emits a process warning. */
  readonly report?: (problem: Error) => void;
}

/** Applies the events of one workspace to its chat. */
export interface CatchUp {
  /**
   * The `handle` of a receiver. Resolves once `state` contains the event. Waits only while too many events of the channel
   * or DM are pending.
   */
  handleEvent(event: OutboundEvent): Promise<void>;
  /**
   * The `handle` of `runPoller`. Does not wait for the chat, so that a channel that is slow or refuses messages delays no other channel.
   * Returns undefined if the cursor may move past the page.
   *
   * @throws if the catch-up is closed
   */
  takePage(page: EventPage): UnfinishedPage | undefined;
  /**
   * For your own loop that polls one page at a time. Waits until the chat has answered all calls. Rejects if the cursor must
   * not move past the page yet, so that the page is polled again.
   */
  handlePage(page: EventPage): Promise<void>;
  /** The channels and DMs whose messages wait because the chat refuses them, at most 20. */
  readonly waiting: readonly WaitingPlace[];
  readonly state: BridgeState;
  /** Stops starting calls to the chat, and resolves when all pending calls are answered. */
  close(): Promise<void>;
}

type ForChat = Exclude<BridgeEffect, { type: "skip" | "missed" }>;

/** Milliseconds after which an event that was skipped as `full` is passed to `reduce` again. */
const FULL_PAUSE_MS = 100;
const NOT_ACCEPTED = new Error("the chat has not accepted all events of the page");
const NO_ROOM = new Error("too many events wait for the chat");

/** Returns a `CatchUp`, which connects `reduce` to a chat, the clock and a timer. */
export function createCatchUp(options: CatchUpOptions): CatchUp {
  const catchUp = new ChatCatchUp(options);
  return {
    get state() {
      return catchUp.state;
    },
    get waiting() {
      return catchUp.waiting;
    },
    handleEvent: (event) => catchUp.handleEvent(event),
    takePage: (page) => catchUp.takePage(page),
    handlePage: (page) => catchUp.handlePage(page),
    close: () => catchUp.close(),
  };
}

/** Makes the calls to the chat that `reduce` requests, and passes their outcomes to `reduce`. */
class ChatCatchUp implements CatchUp {
  readonly #options: CatchUpOptions;
  readonly #report: (problem: Error) => void;
  readonly #pending = new Set<Promise<void>>();
  #state: BridgeState;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #waiting = new WaitingPlaces();
  /** Keys of the creates that `takePage` skipped. A key is kept until the create's page is read again. */
  readonly #skipped = new Set<string>();
  #holders: { readonly of: BridgeState; readonly holders: CursorHolders } | undefined;
  /**
   * `next` of the last page, if that page had a gap. Until a new event arrives, each further page has the same `next`
   * and reports the same gap again.
   */
  #missedAt: string | null | undefined;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    this.#report = options.report ?? warn;
    this.#state = options.state ?? initialState();
  }

  get state(): BridgeState {
    return this.#state;
  }

  async handleEvent(event: OutboundEvent): Promise<void> {
    const offer = () => {
      if (this.#isClosed) throw new Error("the catch-up is closed: the event was not accepted");
      return this.#feed({ type: "events", events: [event], nowMs: Date.now() });
    };
    while (skippedAsFull(offer()).length > 0) await sleep(FULL_PAUSE_MS);
  }

  get waiting(): readonly WaitingPlace[] {
    return this.#waiting.list(this.#state);
  }

  takePage(page: EventPage): UnfinishedPage | undefined {
    const full = skippedAsFull(this.#offerPage(page, this.#skipped));
    for (const key of full.flatMap(skipKeys)) this.#skipped.add(key);
    const places = [...new Set(full.map(placeOf))];
    let ids = page.events.map(({ id }) => id);
    const progress = (): PageProgress => {
      const { busy, refused } = this.#cursorHolders();
      ids = ids.filter((id) => busy.has(id) || refused.has(id));
      if (places.some((place) => hasRoom(this.#state, place))) return { is: "again", problem: NO_ROOM };
      if (places.length > 0) return { is: "waiting", problem: NO_ROOM };
      if (ids.some((id) => refused.has(id))) return { is: "waiting", problem: NOT_ACCEPTED };
      return { is: ids.length > 0 ? "busy" : "done" };
    };
    if (progress().is === "done") return undefined;
    return { progress, idle: () => this.#idle(), onReread: () => this.#skipped.clear() };
  }

  async handlePage(page: EventPage): Promise<void> {
    const effects = this.#offerPage(page);
    await this.#idle();
    if (skippedAsFull(effects).length > 0 || !isSettled(this.#state)) {
      throw new Error(NOT_ACCEPTED.message);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#idle();
  }

  #offerPage({ events, gap, next }: EventPage, skipped?: ReadonlySet<string>): readonly BridgeEffect[] {
    if (this.#isClosed) throw new Error("the catch-up is closed: the page was not accepted");
    const isNewGap = gap && next !== this.#missedAt;
    this.#missedAt = gap ? next : undefined;
    const input = { type: "events", events, gap: isNewGap, nowMs: Date.now() } as const;
    return this.#feed(skipped === undefined ? input : { ...input, skipped });
  }

  /**
   * Returns the events because of which the cursor must not move. The result is cached, because many pages need it
   * while the state stays the same.
   */
  #cursorHolders(): CursorHolders {
    if (this.#holders?.of !== this.#state) {
      this.#holders = { of: this.#state, holders: cursorHolders(this.#state) };
    }
    return this.#holders.holders;
  }

  #feed(input: BridgeInput): readonly BridgeEffect[] {
    const { effects, wakeAtMs, state } = reduce(this.#state, input);
    this.#state = state;
    this.#options.onState?.(state);
    clearTimeout(this.#timer);
    if (this.#isClosed) return effects;
    if (wakeAtMs !== undefined) {
      const inMs = Math.min(Math.max(0, wakeAtMs - Date.now()), TIMER_MOST_MS);
      this.#timer = setTimeout(() => this.#feed({ type: "time", nowMs: Date.now() }), inMs);
    }
    for (const effect of effects) if (isForChat(effect)) this.#begin(effect);
    for (const effect of effects) if (!isForChat(effect)) this.#options.onEffect?.(effect);
    return effects;
  }

  #begin(effect: ForChat): void {
    const call = this.#untilAnswered(effect).finally(() => this.#pending.delete(call));
    this.#pending.add(call);
  }

  /**
   * Makes a call to the chat. Resolves at the chat's answer or at the timeout, whichever comes first. A success after
   * the timeout still updates the state.
   */
  #untilAnswered(effect: ForChat): Promise<void> {
    const { chat, chatTimeoutMs = 30_000 } = this.#options;
    const { id: eventId, type } = effect.event;
    const signal = AbortSignal.timeout(Math.min(chatTimeoutMs, TIMER_MOST_MS));
    return new Promise((resolve) => {
      let isAnswered = false;
      const answer = (outcome: BridgeInput) => {
        isAnswered = true;
        this.#feed(outcome);
        resolve();
      };
      const refuse = (error: unknown) => {
        if (isAnswered) return;
        this.#report(errorOf(`the chat refused ${type} ${eventId}`, error));
        // If the bridge is stopping, the chat's client may be stopping too, and may refuse the event for that reason.
        // The event stays open, so the next run handles it again.
        if (this.#isClosed) return resolve();
        answer({ type: "refused", eventId, ...retryAfterOf(error), nowMs: Date.now() });
        if (type !== "message.create" && type !== "dm.create") return;
        this.#waiting.note(placeOf(effect.event), reasonOf(error), this.#state);
      };
      signal.addEventListener("abort", () => refuse(signal.reason));
      callChat(chat, effect, signal).then(answer, refuse);
    });
  }

  async #idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}

async function callChat(chat: Chat, effect: ForChat, signal: AbortSignal): Promise<BridgeInput> {
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

function skippedAsFull(effects: readonly BridgeEffect[]) {
  return effects.flatMap((effect) =>
    effect.type === "skip" && effect.reason === "full" && effect.event.type !== "ping" ? [effect.event] : [],
  );
}

function isForChat(effect: BridgeEffect): effect is ForChat {
  return effect.type !== "skip" && effect.type !== "missed";
}

function retryAfterOf(error: unknown): { readonly retryAfterMs?: number } {
  if (typeof error !== "object" || error === null || !("retryAfterMs" in error)) return {};
  const { retryAfterMs } = error;
  return typeof retryAfterMs === "number" && retryAfterMs > 0 ? { retryAfterMs } : {};
}
