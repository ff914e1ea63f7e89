import { setTimeout as sleep } from "node:timers/promises";
import { CannotShow, createBridge, RetryLater, type Bridge } from "chat-bridge-kit";
import {
  isLoopback,
  kitOptions,
  withStatus,
  type BridgeSettings,
  type RunningBridge,
  type Tools,
} from "chat-bridge-runner";
import type { ServerLine, TextEvent } from "irc-framework";
import { clientOptions } from "./client-options";
import { ChannelUnable } from "./connection/channel-unable";
import { Channels } from "./connection/channels";
import { createFloodGate } from "./connection/flood-gate";
import { IrcConnection, type IrcSession } from "./connection/irc-connection";
import { inviteRule } from "./connection/may-invite";
import { followMembers, readWhox } from "./connection/member-events";
import { LineRoom } from "./connection/line-room";
import { Outbox } from "./connection/outbox";
import { refusalOf } from "./connection/refusal-of";
import type { IrcSettings } from "./irc-settings";
import { ChannelChat } from "./play/channel-chat";
import { withSent, type ShownView } from "./play/find-choices";
import { Hints } from "./play/hints";
import { MemberTexts } from "./play/member-texts";
import { MessagePrinter } from "./play/message-printer";
import { SilenceHints } from "./play/silence-hints";
import { typedLines } from "./play/typed-lines";
import { invitedChannels } from "./state/invited-channels";
import { Journal } from "./state/journal";
import { isNick, Members, type MemberIdentity } from "./state/members";

/**
 * Milliseconds after which the kit treats a message as refused. The limit is high, because lines can wait for the flood
 * gate.
 */
const CHAT_TIMEOUT_MS = 600_000;
const FINISH_LINES_MS = 5_000;
const STOP_KIT_MS = 2_000;
/** Maximum milliseconds for which a stopping bridge reads and reports what members have typed. */
const LAST_TEXTS_MS = 1_000;
/**
 * Token of the `PING` that a stopping bridge sends. When the answer arrives, the bridge has read everything that
 * members typed before the stop.
 */
const STOP_TOKEN = "last-lines";
const QUIT_WITHIN_MS = 1_500;
const KNOWN_TRIES = 250;
const KNOWN_EVERY_MS = 20;
/** Milliseconds after connecting, by which time the server has surely listed the members of the channels. */
const LISTED_AFTER_MS = 20_000;

/** Starts the bridge between an IRC server and a workspace. Resolves without waiting for connections. */
export async function startIrcBridge(
  settings: BridgeSettings & IrcSettings,
  { log, program, fail }: Tools,
): Promise<RunningBridge> {
  if (!settings.IRC_TLS && !isLoopback(settings.IRC_HOST)) {
    log.warn(
      "IRC_TLS=off: everybody on the network path can read and change what members and the bridge send",
    );
  }
  const bridge = new IrcBridge(settings, log, program);
  bridge.start().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));
  return bridge;
}

/** Connects the parts of the bridge. */
class IrcBridge implements RunningBridge {
  readonly #log: Tools["log"];
  readonly #members = new Members();
  readonly #room = new LineRoom();
  readonly #journal: Journal;
  readonly #irc: IrcConnection;
  readonly #outbox: Outbox;
  readonly #channels: Channels;
  readonly #printer: MessagePrinter;
  readonly #chat: ChannelChat;
  readonly #silence: SilenceHints;
  readonly #bridge: Bridge;
  readonly #texts: MemberTexts;
  #upAtMs = performance.now();
  #isStopping = false;
  /** Called when the server answers the `PING` of a stopping bridge. */
  #onStopPong: (() => void) | undefined;

  constructor(settings: BridgeSettings & IrcSettings, log: Tools["log"], program: string) {
    const { STATE_FOLDER: folder } = settings;
    const members = this.#members;
    const journal = new Journal(folder, (err) => log.error({ err }, "the journal was not compacted"));
    const outbox = new Outbox({
      write: (line) => this.#irc.write(line),
      gate: createFloodGate(settings.IRC_BURST_LINES, settings.IRC_LINE_MS),
      journal,
      readiness: (target) => (isNick(target) ? "now" : this.#channels.readiness(target)),
      delivered: (target) => this.#channels.delivered(target),
    });
    this.#channels = this.#newChannels(settings, log, outbox);
    this.#journal = journal;
    this.#outbox = outbox;
    this.#printer = this.#newPrinter(settings, log);
    const shown = (messageId: string) => this.#bridge.shown(messageId);
    this.#chat = new ChannelChat({ printer: this.#printer, journal, shown, log });
    this.#bridge = createBridge({
      ...kitOptions(settings, log),
      chat: this.#chat,
      chatTimeoutMs: CHAT_TIMEOUT_MS,
      onlyReported: "members",
    });
    const hints = new Hints({
      outbox,
      channels: this.#channels,
      lower: (name) => this.#lower(name),
      ownNick: () => this.#irc.session?.client.user.nick ?? settings.IRC_NICK,
    });
    this.#silence = new SilenceHints({
      silenceOf: (channel) => this.#channels.silenceOf(channel),
      text: (channel) => hints.silence(channel),
      hint: (member, text) => hints.send(member, text),
    });
    const report = typedLines({
      settings,
      bridge: withStatus(this.#bridge, {
        program,
        settings,
        rooms: () => this.rooms(),
        answer: (text, { user, channel }) =>
          hints.send(user as MemberIdentity, text, typeof channel === "string" ? channel : channel.id),
      }),
      view: this.#view(),
      log,
      untilKnown: (messageId) => this.#untilKnown(messageId),
      hint: (member, text, channel) => hints.send(member, text, channel),
      onTyped: (member, channel) => this.#silence.typed(member, channel),
      sharedChannels: ({ name }) =>
        members.channelsOf(name).flatMap((id) => {
          const channel = this.#channels.nameOf(id);
          return channel === undefined ? [] : [{ id, name: channel }];
        }),
    });
    this.#texts = new MemberTexts({
      members,
      channels: this.#channels,
      outbox,
      bridge: this.#bridge,
      log,
      report,
    });
    this.#irc = new IrcConnection({
      client: clientOptions(settings, (err) =>
        log.warn({ err }, "skipped a line of the server that cannot be read"),
      ),
      log,
      outbox,
      onUp: (session) => this.#onUp(session),
      onDown: () => this.#onDown(),
      onLine: (session, line) => this.#onLine(session, line),
    });
    this.#log = log;
  }

  /** Connects to the server and to the service. Rejects like `Bridge.start`. */
  async start(): Promise<void> {
    this.#irc.open();
    await this.#bridge.start();
    if (this.#isStopping) return;
    this.#log.info("connected to the service");
    this.#printer.resume((messageId) => this.#bridge.shown(messageId));
  }

  states() {
    const { isConnected, problem, waiting } = this.#bridge.status;
    const irc = { ...this.#irc.state, ...this.#channels.counts };
    // A bridge that is not in any of its channels counts as disconnected.
    const isOut = irc.isConnected && irc.joined === 0 && irc.wanted > 0;
    return {
      service: { isConnected, problem, waiting },
      irc: isOut ? { ...irc, isConnected: false, problem: "not in any channel" } : irc,
    };
  }

  rooms() {
    return this.#channels.rooms;
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    if (this.#irc.session !== undefined) await within(LAST_TEXTS_MS, this.#untilTextsAreReported());
    const stopped = this.#bridge.stop();
    if (this.#irc.session !== undefined) await this.#outbox.drain(FINISH_LINES_MS);
    this.#printer.close();
    await within(STOP_KIT_MS, stopped);
    await this.#irc.close("the bridge is stopping", QUIT_WITHIN_MS);
    this.#journal.close();
  }

  #newChannels(settings: BridgeSettings & IrcSettings, log: Tools["log"], outbox: Outbox): Channels {
    const invited = invitedChannels(settings.STATE_FOLDER);
    return new Channels({
      wanted: settings.IRC_CHANNELS,
      invitedBefore: invited.load(),
      mayInvite: inviteRule(settings.IRC_ALLOW_INVITES, {
        members: this.#members,
        lower: (name) => this.#lower(name),
        lookUp: (nick) => this.#texts.lookUp(nick),
      }),
      log,
      outbox,
      saveInvited: invited.save,
      onSilent: (id) => this.#silence.silenced(id),
      onWritable: (id) => this.#chat.release(id),
      onForgotten: (id) => this.#chat.forget(id),
    });
  }

  #newPrinter(settings: IrcSettings & BridgeSettings, log: Tools["log"]): MessagePrinter {
    return new MessagePrinter({
      outbox: this.#outbox,
      journal: this.#journal,
      room: this.#room,
      text: { isStyled: settings.IRC_FORMATTING, prefix: settings.COMMAND_PREFIX },
      maxLines: settings.IRC_MAX_LINES,
      gapMs: settings.IRC_UPDATE_SECONDS * 1_000,
      nickOf: (userId) => this.#nickOf(userId),
      shown: (messageId) => this.#bridge.shown(messageId),
      isSaved: (messageId, sequence) => (this.#bridge.shown(messageId)?.sequence ?? 0) >= sequence,
      hold: (update) => this.#chat.hold(update),
      onPrinted: (update) => this.#chat.printed(update),
      log,
    });
  }

  /** Returns a view of what members see, to interpret the numbers and texts that they type. */
  #view(): ShownView {
    const [printer, chat] = [this.#printer, this.#chat];
    return {
      shownIn: (channel) => withSent(printer.sent(), this.#bridge.shownIn(channel), channel),
      printedAtMs: (id) => this.#printedAtMs(id),
      isHidden: (shown) => chat.isHeld(shown) && !this.#isBeingPrinted(shown.messageId),
      areChoicesComing: (channel) => printer.areChoicesComing(channel),
      justClosed: (channel) => chat.justClosed(channel),
    };
  }

  #onUp(session: IrcSession): void {
    this.#upAtMs = performance.now();
    this.#room.up(session);
    followMembers(session, this.#members, this.#outbox);
    const onEcho = ({ nick, target, message }: TextEvent): void => {
      if (session.isOwn(nick)) this.#outbox.echoed(session.lower(target), message);
    };
    session.client.on("privmsg", onEcho).on("notice", onEcho);
    this.#texts.up(session);
    this.#outbox.up(session);
    this.#channels.up(session);
  }

  #onDown(): void {
    this.#channels.down();
    this.#outbox.down();
  }

  #onLine(session: IrcSession, line: ServerLine): void {
    this.#channels.onLine(line);
    readWhox(line, this.#members);
    const token = line.command === "PONG" ? (line.params.at(-1) ?? "") : undefined;
    if (token === STOP_TOKEN) this.#onStopPong?.();
    else if (token !== undefined) this.#outbox.ponged(token);
    const refusal = refusalOf(line, (target) => this.#channels.has(session.lower(target)));
    if (refusal === undefined) return;
    const target = session.lower(refusal.target);
    this.#outbox.refused(target, refusal.error);
    if (refusal.error instanceof ChannelUnable) this.#channels.refused(target, refusal.reason);
  }

  /** Resolves when the bridge has read and reported everything that members have typed so far. */
  async #untilTextsAreReported(): Promise<void> {
    const answered = new Promise<void>((resolve) => (this.#onStopPong = resolve));
    this.#outbox.control(`PING ${STOP_TOKEN}`);
    await answered;
    await this.#texts.settled();
  }

  /** Returns the current nick of a member, in lower case. */
  #nickOf(userId: string): string {
    const nick = this.#members.nickOf(userId);
    if (nick !== undefined) return this.#lower(nick);
    // Just after the bridge has connected, the server may not have listed the members of the channels yet.
    if (performance.now() - this.#upAtMs < LISTED_AFTER_MS) throw new RetryLater(LISTED_AFTER_MS / 4);
    throw new CannotShow("the member is not in a channel of the bridge");
  }

  #lower(name: string): string {
    return this.#irc.session?.lower(name) ?? name.toLowerCase();
  }

  #isBeingPrinted(messageId: string): boolean {
    return this.#printer.sent().some((sent) => sent.messageId === messageId);
  }

  #printedAtMs(messageId: string): number | undefined {
    return this.#isBeingPrinted(messageId) ? Infinity : this.#journal.printedOf(messageId)?.atMs;
  }

  /** Resolves when the kit has saved a message, or soon after the message was dropped. */
  async #untilKnown(messageId: string): Promise<void> {
    const isKnown = (): boolean => this.#bridge.shown(messageId) !== undefined;
    if (isKnown()) return;
    await this.#printer.settled(messageId);
    // The kit saves a message shortly after all its lines are confirmed, so a few short waits are enough.
    for (let tries = 0; tries < KNOWN_TRIES && !isKnown(); tries += 1) await sleep(KNOWN_EVERY_MS);
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}
