import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotShow, createBridge, dmChannel, RetryLater } from "chat-bridge-kit";
import {
  isLoopback,
  kitOptions,
  type BridgeSettings,
  type ConnectionState,
  type RunningBridge,
  type Tools,
} from "chat-bridge-runner";
import type { TextEvent } from "irc-framework";
import { clientOptions } from "./client-options";
import { createChannels } from "./connection/channels";
import { createFloodGate } from "./connection/flood-gate";
import { connectToIrc } from "./connection/irc-connection";
import type { IrcSession } from "./connection/irc-session";
import { accountLookup, followMembers, readWhox } from "./connection/member-events";
import { createOutbox } from "./connection/outbox";
import { refusalOf } from "./connection/refusal-of";
import type { IrcSettings } from "./irc-settings";
import { withSent } from "./play/find-choices";
import { showMessages } from "./play/show-messages";
import { typedLines } from "./play/typed-lines";
import { invitedChannels } from "./state/invited-channels";
import { openJournal } from "./state/journal";
import { createMembers, isNick, type MemberIdentity } from "./state/members";

/** Milliseconds after which the kit treats a message as refused: lines can wait for the flood gate. */
const CHAT_TIMEOUT_MS = 600_000;
const FINISH_LINES_MS = 5_000;
const STOP_KIT_MS = 2_000;
/** Milliseconds that a stopping bridge waits for the reports of what members have typed. */
const LAST_TEXTS_MS = 1_000;
/** Token of the `PING` after which a stopping bridge has read everything that members typed before. */
const STOP_TOKEN = "last-lines";
const QUIT_WITHIN_MS = 1_500;
const KNOWN_TRIES = 50;
const KNOWN_EVERY_MS = 20;
/** Milliseconds after a connection within which the server lists the members. */
const LISTED_AFTER_MS = 20_000;
/** Milliseconds after which a line is ignored, because bouncers and servers replay old lines. */
const STALE_MS = 300_000;

/** Starts the bridge between an IRC server and a workspace. */
export async function startIrcBridge(
  settings: BridgeSettings & IrcSettings,
  { log, fail }: Tools,
): Promise<RunningBridge> {
  warnOfPlaintext(settings, log);
  const { STATE_FOLDER: folder, COMMAND_PREFIX: prefix } = settings;
  const journal = openJournal(folder, (problem) =>
    log.error({ err: problem }, "the journal was not compacted"),
  );
  const members = createMembers();
  const invited = invitedChannels(folder);
  let upAtMs = performance.now();
  let lookUp: ((nick: string) => Promise<void>) | undefined;
  /** Lines of members that are being reported. */
  const texts = new Set<Promise<void>>();
  let onStopPong: (() => void) | undefined;
  let isStopping = false;

  const outbox = createOutbox({
    write: (line) => irc.write(line),
    gate: createFloodGate(settings.IRC_BURST_LINES, settings.IRC_LINE_MS),
    journal,
    readiness(target) {
      if (isNick(target)) return "now";
      return channels.readiness(target);
    },
  });
  const lower = (name: string): string => irc.session?.lower(name) ?? name.toLowerCase();
  const channels = createChannels({
    wanted: settings.IRC_CHANNELS,
    invitedBefore: invited.load(),
    mayInvite: (nick) =>
      settings.IRC_ALLOW_INVITES.some((entry) => entry === "*" || entry === members.identityOf(nick).id),
    log,
    control: outbox.control,
    onChange: outbox.wake,
    onInvited: invited.save,
  });
  const { chat, ...shows } = showMessages({
    outbox,
    journal,
    text: { isStyled: settings.IRC_FORMATTING, prefix },
    maxLines: settings.IRC_MAX_LINES,
    gapMs: settings.IRC_UPDATE_SECONDS * 1_000,
    nickOf(userId) {
      const nick = members.nickOf(userId);
      if (nick !== undefined) return lower(nick);
      // The server lists the members and their accounts after the bridge has joined its channels.
      if (performance.now() - upAtMs < LISTED_AFTER_MS) throw new RetryLater(LISTED_AFTER_MS / 4);
      throw new CannotShow("the member is not in a channel of the bridge");
    },
    log,
  });
  const bridge = createBridge({
    ...kitOptions(settings, log),
    chat,
    chatTimeoutMs: CHAT_TIMEOUT_MS,
    onlyReported: "members",
  });
  const onTyped = typedLines({
    settings,
    bridge,
    view: {
      shownIn: (channel) => withSent(shows.sent(), bridge.shownIn(channel), channel),
      printedAtMs: (messageId) =>
        shows.sent().some((sent) => sent.messageId === messageId)
          ? Infinity
          : journal.printedOf(messageId)?.atMs,
    },
    log,
    async untilKnown(messageId) {
      if (bridge.shown(messageId) !== undefined) return;
      await shows.settled(messageId);
      // The kit saves a message right after the chat has accepted the message.
      for (let tries = 0; tries < KNOWN_TRIES && bridge.shown(messageId) === undefined; tries += 1) {
        await sleep(KNOWN_EVERY_MS);
      }
    },
    hint(member: MemberIdentity, text) {
      const id = `hint-${randomUUID()}`;
      const target = lower(member.name);
      outbox.hint({ id, command: "NOTICE", target, lines: [text], expiresAtMs: Date.now() + 30_000 });
    },
  });

  /**
   * Whether private lines of a member are reported. Games may write to reported members, and a services account that
   * writes to the bridge must not become one.
   */
  function isPartner({ id, name }: MemberIdentity): boolean {
    return members.isPresent(name) || bridge.shownIn(dmChannel(id)).length > 0;
  }

  /** Reports a line that a member typed, after a lookup of the member's account. */
  async function onText(session: IrcSession, event: TextEvent): Promise<void> {
    const { nick, target, message: text, tags, time } = event;
    if (event.from_server || session.isOwn(nick)) return;
    if (time !== undefined && time < Date.now() - STALE_MS) return;
    const isDirect = session.isOwn(target);
    const name = isDirect ? undefined : channels.nameOf(session.lower(target));
    if (!isDirect && name === undefined) return;
    if (session.hasAccountTag) members.hasAccount(nick, event.account ?? false);
    else if (members.isUnknown(nick)) await lookUp?.(nick);
    const channel = name === undefined ? undefined : { id: session.lower(name), name };
    const member = members.identityOf(nick);
    if (isDirect && !isPartner(member)) return;
    await onTyped({ member, channel, text, id: tags["msgid"] });
  }

  function onEcho(session: IrcSession, { nick, target, message }: TextEvent): void {
    if (session.isOwn(nick)) outbox.echoed(session.lower(target), message);
  }

  const irc = connectToIrc({
    client: clientOptions(settings, (error) =>
      log.warn({ err: error }, "skipped a line of the server that cannot be read"),
    ),
    log,
    control: outbox.control,
    onUp(session) {
      upAtMs = performance.now();
      followMembers(session, members, outbox.control);
      lookUp = accountLookup(session, members, outbox.control);
      session.client
        .on("privmsg", (event) => {
          onEcho(session, event);
          const reported = onText(session, event)
            .catch((error: unknown) => log.error({ err: error }, "a line was not reported"))
            .finally(() => texts.delete(reported));
          texts.add(reported);
        })
        .on("notice", (event) => onEcho(session, event));
      outbox.up(session);
      channels.up(session);
    },
    onDown() {
      channels.down();
      outbox.down();
    },
    onLine(session, line) {
      channels.onLine(line);
      readWhox(line, members);
      const token = line.command === "PONG" ? (line.params.at(-1) ?? "") : undefined;
      if (token === STOP_TOKEN) onStopPong?.();
      else if (token !== undefined) outbox.ponged(token);
      const refusal = refusalOf(line);
      if (refusal !== undefined) outbox.refused(session.lower(refusal.target), refusal.error);
    },
  });
  /** Resolves when the bridge has read and reported what members typed until now. */
  async function untilTextsAreReported(): Promise<void> {
    const answered = new Promise<void>((resolve) => (onStopPong = resolve));
    outbox.control(`PING ${STOP_TOKEN}`);
    await answered;
    while (texts.size > 0) await Promise.all(texts);
  }

  async function startKit(): Promise<void> {
    await bridge.start();
    if (isStopping) return;
    log.info("connected to the service");
    shows.resume((messageId) => bridge.shown(messageId));
  }
  startKit().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));

  return {
    states: () => ({
      service: { isConnected: bridge.status.isConnected, problem: bridge.status.problem },
      irc: ircState(irc.state(), channels.counts()),
    }),
    async close() {
      isStopping = true;
      if (irc.session !== undefined) await within(LAST_TEXTS_MS, untilTextsAreReported());
      const stopped = bridge.stop();
      if (irc.session !== undefined) await outbox.drain(FINISH_LINES_MS);
      shows.close();
      await within(STOP_KIT_MS, stopped);
      await irc.close("the bridge is stopping", QUIT_WITHIN_MS);
      journal.close();
    },
  };
}

/**
 * Returns the state of the connection to the server. A bridge that is in none of its channels counts as not connected.
 */
function ircState(state: ConnectionState, channels: { joined: number; wanted: number }) {
  const isOut = state.isConnected && channels.joined === 0 && channels.wanted > 0;
  return { ...state, ...channels, ...(isOut ? { isConnected: false, problem: "not in any channel" } : {}) };
}

function warnOfPlaintext(settings: IrcSettings, log: Tools["log"]): void {
  if (settings.IRC_TLS || isLoopback(settings.IRC_HOST)) return;
  log.warn("IRC_TLS=off: everybody on the network path can read and change what members and the bridge send");
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
