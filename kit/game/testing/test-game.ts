import { DM_PREFIX, UUID_FORM } from "../../../contract/forms";
import type { InboundEvent } from "../../../proto/gen/chatbridge/v1/event";
import { millisecondsOf, type Duration } from "../duration";
import type { Game } from "../game";
import { GameRun } from "../game-run";
import { memoryStore, type GameStore } from "../store";
import { ChatPlace, listMessages } from "./chat-place";
import { MemoryCore, type Finding, type MemoryWorkspace, type ShownMessage } from "./memory-core";
import { MemoryLink } from "./memory-link";
import { Problems } from "./problems";
import { VirtualClock } from "./virtual-clock";

export interface TestGameOptions {
  /** Whether calls succeed even if the game fails, e.g. to test its failures. See `TestChat.problems`. */
  readonly tolerate?: boolean | undefined;
  /** The names of all games of the workspaces; by default, only the game itself. */
  readonly games?: readonly string[] | undefined;
  /** The store of the game. The default is a store in memory. */
  readonly store?: GameStore | undefined;
}

export interface MemberOptions {
  /** The id of the member. The default is the member's name in lower case. */
  readonly id?: string | undefined;
  /** The name of the member's workspace, or its id. All members are in one workspace by default. */
  readonly workspace?: string | undefined;
  /** Id of the channel in which the member types. The default is "room". */
  readonly channel?: string | undefined;
}

/** Starts a game in a chat in memory: without a network, and in virtual time. */
export function testGame<State>(game: Game<State>, options: TestGameOptions = {}): TestChat {
  return new TestChat(game as unknown as Game<unknown>, options);
}

const GROUP = "test";
const ROOM = "room";
const WORKSPACE = "workspace";
/** Real milliseconds after which a handler counts as stuck. */
const STUCK_AFTER_MS = 4_000;

/**
 * A chat in memory with a game. Every asynchronous method resolves when the game has finished all work that the call
 * caused. The method rejects if a handler threw, core refused an event, or the game broke a rule of the contract.
 */
export class TestChat {
  readonly clock: TestClock;
  /** The default channel of members. */
  readonly room: TestChannel;
  /**
   * The service in memory: for faults, e.g. `core.endStreams()`, and for checks of events and messages. Call `settle`
   * after a fault.
   */
  readonly core: MemoryCore;
  readonly #game: Game<unknown>;
  readonly #options: TestGameOptions;
  readonly #store: GameStore;
  readonly #virtual = new VirtualClock();
  readonly #problems = new Problems();
  readonly #workspaces = new Map<string, MemoryWorkspace>();
  #process: { readonly run: GameRun<unknown>; readonly link: MemoryLink };
  #processes = 0;
  #isStopped = false;

  constructor(game: Game<unknown>, options: TestGameOptions) {
    this.#game = game;
    this.#options = options;
    this.#store = options.store ?? memoryStore();
    this.core = new MemoryCore(this.#virtual, (occurrence) => this.#problems.note(occurrence));
    this.clock = new TestClock(this.#virtual, () => this.settle());
    this.room = this.channel(ROOM);
    this.#process = this.#start();
  }

  /** Returns a member. The id of the member is the name in lower case. */
  member(name: string, { id, workspace = WORKSPACE, channel = ROOM }: MemberOptions = {}): TestMember {
    const where = this.#workspace(workspace);
    where.addChannel(channel);
    return new TestMember(name, where, channel, {
      id: id ?? name.toLowerCase(),
      game: this.#game.name,
      report: (event) => this.#act(() => this.core.receive(where.id, event)),
    });
  }

  /** Returns a channel of a workspace. The game can post to this channel. */
  channel(id: string, workspace = WORKSPACE): TestChannel {
    const where = this.#workspace(workspace);
    where.addChannel(id);
    return new TestChannel(id, where);
  }

  /** Kills the process of the game, and starts a new one with the same store. */
  async restart(): Promise<void> {
    await this.#act(() => {
      const { run, link } = this.#process;
      link.kill();
      run.kill();
      this.#process = this.#start();
    });
  }

  /** Delivers the newest event again, as core sometimes does. The game must handle the event only once. */
  async redeliver(): Promise<void> {
    await this.#act(() => {
      if (!this.core.redeliver())
        throw new Error("no event has been delivered yet, so none can be delivered again");
    });
  }

  /** Stops the game as a signal would. The messages in the chat can still be checked. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#process.run.stop();
    const unacked = this.core.report().find(({ code }) => code === "unacked");
    if (unacked && this.#process.run.counts.failed > 0) {
      const advice = "let the time of the retries pass before the stop, e.g. with chat.clock.advance";
      this.#problems.warn({}, `an event waits, because the handler of an event has failed: ${advice}`);
    } else if (unacked) this.#problems.note({ ...unacked, detail: unacked.example });
    this.core.close();
    this.#throwProblems();
  }

  /** Resolves when the game has no work in progress. */
  async settle(): Promise<void> {
    // A link opens its next stream and begins its calls to core only in the next microtask.
    await Promise.resolve();
    await this.#settled();
    this.#throwProblems();
  }

  /** All problems of the game so far. */
  get problems(): readonly string[] {
    return this.#problems.all;
  }

  /** Returns the rules that the game broke, and advice about texts, buttons and publications. */
  report(): readonly Finding[] {
    return this.core.report();
  }

  async #act(act: () => void): Promise<void> {
    if (this.#isStopped) throw new Error("the game has stopped: start another one with testGame");
    act();
    await this.settle();
  }

  #start(): { readonly run: GameRun<unknown>; readonly link: MemoryLink } {
    const consumer = `process-${++this.#processes}`;
    const link = new MemoryLink(this.core, { group: GROUP, consumer });
    const { games } = this.#options;
    const run = new GameRun(this.#game, {
      link,
      store: this.#store,
      log: this.#problems,
      clock: this.#virtual,
      group: GROUP,
      ...(games && { games }),
    });
    run.run();
    return { run, link };
  }

  async #settled(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const stuck = new Promise<never>((_, reject) => {
      const fail = (): void =>
        reject(new Error("a handler has not finished after 4 s of real time: find out what it waits for"));
      timer = setTimeout(fail, STUCK_AFTER_MS);
    });
    try {
      await Promise.race([this.#process.run.settled(), stuck]);
    } finally {
      clearTimeout(timer);
    }
  }

  #throwProblems(): void {
    const fresh = this.#problems.takeNew();
    if (this.#options.tolerate !== true && fresh !== undefined) throw fresh;
  }

  #workspace(name: string): MemoryWorkspace {
    const known = this.#workspaces.get(name);
    if (known) return known;
    const number = String(this.#workspaces.size + 1).padStart(12, "0");
    const workspace = this.core.addWorkspace(
      UUID_FORM.test(name) ? name : `00000000-0000-4000-8000-${number}`,
    );
    this.#workspaces.set(name, workspace);
    return workspace;
  }
}

/** The clock of a test chat. */
export class TestClock {
  readonly #virtual: VirtualClock;
  readonly #settle: () => Promise<void>;

  constructor(virtual: VirtualClock, settle: () => Promise<void>) {
    this.#virtual = virtual;
    this.#settle = settle;
  }

  /** ms since the epoch. */
  get now(): number {
    return this.#virtual.now();
  }

  /** Moves the clock forward. The timers that become due run in order, each at its own time. */
  async advance(duration: Duration): Promise<void> {
    await this.#virtual.advanceSettled(millisecondsOf(duration), this.#settle);
  }
}

/** The messages that every member of a channel sees. */
export class TestChannel extends ChatPlace {
  protected readonly title: string;
  readonly #workspace: MemoryWorkspace;

  constructor(
    readonly id: string,
    workspace: MemoryWorkspace,
  ) {
    super();
    this.title = `the channel "${id}"`;
    this.#workspace = workspace;
  }

  override get messages(): readonly ShownMessage[] {
    return this.#workspace.messages.filter(({ place, to }) => place === this.id && to === undefined);
  }

  /** Throws an error that lists the messages if no message contains the text or matches the expression. */
  shows(pattern: string | RegExp): void {
    this.mustShow(pattern);
  }

  /** Throws an error that lists the messages if a message contains the text or matches the expression. */
  hides(pattern: string | RegExp): void {
    this.mustHide(pattern);
  }
}

/** A button on a message. */
export interface SeenButton {
  /** The id of the message's channel. */
  readonly place: string;
  readonly messageId: string;
  readonly action: string;
}

interface MemberContext {
  readonly id: string;
  readonly game: string;
  readonly report: (event: InboundEvent) => Promise<void>;
}

/** A member, and the messages that only this member sees: ephemerals and DMs. */
export class TestMember extends ChatPlace {
  readonly id: string;
  protected readonly title: string;
  readonly #workspace: MemoryWorkspace;
  readonly #channel: string;
  readonly #context: MemberContext;

  constructor(
    readonly name: string,
    workspace: MemoryWorkspace,
    channel: string,
    context: MemberContext,
  ) {
    super();
    this.id = context.id;
    this.title = `${name} (ephemerals and DMs)`;
    this.#workspace = workspace;
    this.#channel = channel;
    this.#context = context;
  }

  override get messages(): readonly ShownMessage[] {
    return this.#workspace.messages.filter(({ place, to }) => this.#isDm(place) || to === this.id);
  }

  /** Throws an error that lists the ephemerals and DMs if none of them contains the text or matches the expression. */
  sees(pattern: string | RegExp): void {
    this.mustShow(pattern);
  }

  /** Throws an error that lists the ephemerals and DMs if one of them contains the text or matches the expression. */
  hides(pattern: string | RegExp): void {
    this.mustHide(pattern);
  }

  /**
   * Types in the channel. A text that begins with "/" is a command; "/play dice roll" is the same as "/dice roll",
   * because bridges have one command.
   */
  async types(text: string): Promise<void> {
    if (!text.startsWith("/")) return this.#say(this.#channel, text);
    const isBridgeCommand = /^\/play(?:\s|$)/.test(text) && this.#context.game !== "play";
    const command = text.slice(isBridgeCommand ? "/play".length : 1).trim();
    await this.#report(this.#channel, { $case: "command", value: { text: command } });
  }

  /** Types a message in the direct conversation with the game. */
  async dms(text: string): Promise<void> {
    if (text.startsWith("/"))
      throw new Error(`"${text}" is a command, which a direct conversation does not have`);
    await this.#say(`${DM_PREFIX}${this.id}`, text);
  }

  /** Replies to the newest message that awaits a reply, in the channel or in the direct conversation. */
  async replies(text: string): Promise<void> {
    const asked = this.#visible().findLast(({ awaitsReply }) => awaitsReply);
    if (asked === undefined) {
      throw new Error(
        `no message that ${this.name} sees awaits a reply.\n${listMessages(this.name, this.#visible())}`,
      );
    }
    await this.#say(asked.place, text, asked.id);
  }

  /**
   * Presses a button. A label stands for the button with this label on the newest visible message that has such a
   * button. A result of `button` can be pressed even if its message no longer shows the button.
   */
  async presses(button: string | SeenButton): Promise<void> {
    const { place, messageId, action } = typeof button === "string" ? this.button(button) : button;
    await this.#report(place, { $case: "action", value: { messageId, action } });
  }

  /** Returns a button that the member sees now. A test can press it later, as members sometimes press old buttons. */
  button(label: string): SeenButton {
    for (const { id, place, content } of this.#visible().toReversed()) {
      const button = content.buttons.flat().find((each) => each.label === label);
      if (button === undefined) continue;
      if (!("action" in button))
        throw new Error(`the button "${label}" opens ${button.url}: no event is sent`);
      return { place, messageId: id, action: button.action };
    }
    const labels = this.#visible().flatMap(({ content }) =>
      content.buttons.flat().map((each) => `[${each.label}]`),
    );
    const seen = labels.length === 0 ? "no buttons" : `these buttons: ${labels.join(" ")}`;
    throw new Error(`${this.name} sees no button "${label}", but ${seen}`);
  }

  /** The messages of the channel and of the direct conversation, oldest first. */
  #visible(): readonly ShownMessage[] {
    return this.#workspace.messages.filter(
      ({ place, to }) =>
        this.#isDm(place) || (place === this.#channel && (to === undefined || to === this.id)),
    );
  }

  #isDm(place: string): boolean {
    return place === `${DM_PREFIX}${this.id}`;
  }

  async #say(channel: string, text: string, replyTo?: string): Promise<void> {
    await this.#report(channel, { $case: "message", value: { text, replyTo } });
  }

  async #report(channel: string, kind: NonNullable<InboundEvent["kind"]>): Promise<void> {
    await this.#context.report({
      channel: { id: channel },
      user: { id: this.id, ...(this.name !== "" && { name: this.name }) },
      kind,
    });
  }
}
