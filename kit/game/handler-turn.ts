import { DM_PREFIX } from "../../contract/forms";
import { copyContent, lifetimeNear, type Content, type MessageContent } from "./content";
import type { AskedQuestion, OutboxEntry, Output, Place, WorkspaceDocument } from "./document";
import { millisecondsOf, type Duration } from "./duration";
import { copyJson } from "./json";
import type { AnswerToken, AskOptions, EphemeralOptions, Member, MessageRef, TimerToken, Turn } from "./turn";

/** Maximum numbers of events that a turn publishes, and of waiting timers and open questions of a workspace. */
const OUTPUTS_MAX = 100;
const TIMERS_MAX = 1_000;
const ASKED_MAX = 1_000;

/** The part of a game that determines the state of a turn. */
export interface StateSource<State> {
  readonly per: "workspace" | "channel";
  readonly newState: () => State;
}

/** The facts about a turn that the caller provides. */
export interface TurnFacts {
  readonly workspaceId: string;
  readonly place: Place;
  readonly nowMs: number;
  /** The first part of the idempotency keys: the same in every attempt of the turn, and in no other turn. */
  readonly cause: string;
  readonly deliveryId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly message?: MessageRef | undefined;
  readonly replyTo?: MessageRef | undefined;
  readonly usage: (verb: string) => string;
}

/** A turn that records the effects of a handler in a draft of the workspace's document. */
export class HandlerTurn<State> implements Turn<State> {
  readonly #game: StateSource<State>;
  readonly #draft: WorkspaceDocument;
  readonly #facts: TurnFacts;
  /** Copies of the states that the handler has read or assigned. `commit` writes them into the draft. */
  readonly #states = new Map<string, unknown>();
  #outputs = 0;
  #isOver = false;

  constructor(game: StateSource<State>, draft: WorkspaceDocument, facts: TurnFacts) {
    this.#game = game;
    this.#draft = draft;
    this.#facts = facts;
  }

  get id(): string {
    return this.#facts.cause;
  }
  get workspaceId(): string {
    return this.#facts.workspaceId;
  }
  get channel(): string | undefined {
    return this.#facts.place.channel;
  }
  get user(): Member | undefined {
    return this.#facts.place.user;
  }
  get now(): number {
    return this.#facts.nowMs;
  }
  get message(): MessageRef | undefined {
    return this.#facts.message;
  }
  get replyTo(): MessageRef | undefined {
    return this.#facts.replyTo;
  }

  get state(): State {
    const { states } = this.#open();
    const key = this.#stateKey();
    if (!this.#states.has(key)) {
      const state = key in states ? states[key] : this.#game.newState();
      this.#states.set(key, state === undefined ? undefined : copyJson(state, "state"));
    }
    return this.#states.get(key) as State;
  }
  set state(state: State) {
    this.#open();
    this.#states.set(this.#stateKey(), state);
  }

  reset(): void {
    const key = this.#stateKey();
    delete this.#open().states[key];
    this.#states.delete(key);
  }

  reply(content: Content): MessageRef {
    return this.post(this.#channelFor("reply"), content);
  }

  post(channel: string, content: Content): MessageRef {
    const message: MessageRef = `${++this.#open().counter}@${channel}`;
    this.#output(
      channel.startsWith(DM_PREFIX)
        ? { type: "dm", user: channel.slice(DM_PREFIX.length), message, content: copyContent(content) }
        : { type: "create", channel, message, content: copyContent(content) },
    );
    return message;
  }

  dm(userId: string, content: Content): MessageRef {
    return this.post(DM_PREFIX + userId, content);
  }

  ephemeral(content: Content, userId = this.user?.id, { about }: EphemeralOptions = {}): void {
    if (userId === undefined)
      throw new Error("this turn has no member: name the member who sees the message");
    const channel = this.#channelFor("ephemeral");
    if (channel.startsWith(DM_PREFIX)) this.dm(userId, content);
    else this.#output({ type: "ephemeral", channel, user: userId, content: copyContent(content), about });
  }

  update(content: Content, message: MessageRef | undefined = this.message): void {
    if (message === undefined)
      throw new Error("only the turn of a press or an answer has a message: name the message to update");
    if (!message.includes("@")) throw new TypeError(`"${message}" is not a message that a turn returned`);
    this.#output({ type: "update", message, content: copyContent(content) });
  }

  ask(
    content: Content,
    { answer, payload }: AnswerToken,
    { to, from = this.user?.id, within }: AskOptions = {},
  ): MessageRef {
    const channel = to === undefined ? this.#channelFor("ask") : DM_PREFIX + to;
    const lasting = within === undefined ? {} : { lifetime: lifetimeNear(within) };
    const full: MessageContent = { ...lasting, ...copyContent(content), awaitsReply: true };
    const message = this.post(channel, full);
    const isDm = channel.startsWith(DM_PREFIX);
    const isReplaced = (each: AskedQuestion): boolean =>
      isDm && each.channel === channel && each.name === answer;
    const asked = this.#draft.asked.filter((each) => !isReplaced(each));
    asked.push({
      name: answer,
      payload,
      message,
      channel,
      user: from === "anyone" || isDm ? undefined : from,
      untilMs: within === undefined ? undefined : this.now + millisecondsOf(within),
    });
    if (asked.length > ASKED_MAX) asked.shift();
    this.#draft.asked = asked;
    return message;
  }

  after(delay: Duration, token: TimerToken): string {
    return this.at(this.now + millisecondsOf(delay), token);
  }

  at(atMs: number, { timer: name, payload }: TimerToken): string {
    const draft = this.#open();
    if (!Number.isFinite(atMs)) throw new RangeError("the time of a timer is a number of ms since the epoch");
    if (draft.timers.length >= TIMERS_MAX) {
      throw new RangeError(
        `a workspace can have ${TIMERS_MAX} waiting timers: cancel timers, or use one timer for several purposes`,
      );
    }
    const id = `${draft.id}.${++draft.counter}`;
    draft.timers.push({ id, name, payload, place: this.#facts.place, atMs: Math.ceil(atMs) });
    return id;
  }

  cancel(timerId: string): boolean {
    const draft = this.#open();
    const left = draft.timers.filter(({ id }) => id !== timerId);
    const wasWaiting = left.length < draft.timers.length;
    draft.timers = left;
    return wasWaiting;
  }

  usage(verb: string): string {
    return this.#facts.usage(verb);
  }

  /** Writes the states that have changed into the draft. Throws TypeError if JSON cannot express a state. */
  commit(): void {
    const { states } = this.#draft;
    for (const [key, state] of this.#states) {
      if (state === undefined) continue;
      const copy = copyJson(state, "state");
      if (!(key in states) || JSON.stringify(copy) !== JSON.stringify(states[key])) states[key] = copy;
    }
  }

  /** Ends the turn. Later uses of the turn throw. */
  end(): void {
    this.#isOver = true;
  }

  #open(): WorkspaceDocument {
    if (this.#isOver) throw new Error("the turn is over: a handler must await what it starts");
    return this.#draft;
  }

  #stateKey(): string {
    if (this.#game.per === "workspace") return "";
    return this.#channelFor("state");
  }

  #channelFor(use: string): string {
    if (this.channel !== undefined) return this.channel;
    throw new Error(`this turn has no channel for "${use}": use post with the id of a channel`);
  }

  #output(output: Output): void {
    const { cause, deliveryId, traceparent, nowMs } = this.#facts;
    if (this.#outputs >= OUTPUTS_MAX) {
      throw new RangeError(
        `a turn can publish ${OUTPUTS_MAX} events: show more in each message, or set timers`,
      );
    }
    const entry: OutboxEntry = {
      key: `${cause}/${this.#outputs++}/${output.type[0]}`,
      atMs: nowMs,
      ...(deliveryId !== undefined && { deliveryId }),
      ...(traceparent !== undefined && { traceparent }),
      output,
    };
    this.#open().outbox.push(entry);
  }
}
