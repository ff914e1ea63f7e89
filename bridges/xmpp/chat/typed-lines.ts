import { createHash, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import {
  dmChannel,
  readCommand,
  TextChat,
  type Bridge,
  type Channel,
  type TypedLine,
  type Typing,
  type User,
} from "chat-bridge-kit";
import { isStatusCommand, type BridgeSettings, type Logger } from "chat-bridge-runner";
import type { Element } from "ltx";
import { LRUCache } from "lru-cache";
import { bareJid, readJid } from "../jid";
import type { Room } from "../rooms/room";
import type { Rooms } from "../rooms/rooms";
import type { LastSeen } from "../state/last-seen";
import { bodyOf, isEncrypted, NS, occupantId, stanzaId } from "../stanzas";
import type { Accounts } from "./accounts";

export interface TypedLinesOptions {
  readonly settings: Typing & Pick<BridgeSettings, "STATUS_COMMAND">;
  readonly bridge: Bridge;
  readonly rooms: Pick<Rooms, "get" | "find" | "joined">;
  readonly accounts: Pick<Accounts, "send">;
  readonly lastSeen: LastSeen;
  readonly log: Logger;
}

/** The occupant of a room, or the account, to which a hint is sent. */
type HintTo = { readonly room: Room; readonly nick: string } | { readonly account: string };

const HINT_WITHIN_MS = 20_000;
/** Maximum number of reports in progress. Further lines are dropped, because the service cannot keep up. */
const REPORTS_MAX = 1_000;
/** Maximum number of reports in progress of one member, so that a member who floods a room does not affect others. */
const REPORTS_OF_MEMBER_MAX = 20;
/** Minimum milliseconds between two hints that tell the same member that the bridge has no voice. */
const SILENCE_GAP_MS = 10_000;
const SILENCE_HINTS_MAX = 1_000;
const NO_VOICE = "The bridge cannot write in this room: a moderator must give it voice.";

/** Reports what members type in rooms and in private. */
export class TypedLines {
  readonly #options: TypedLinesOptions;
  readonly #textChat: TextChat;
  /** The reports in progress, each with the id of the member. */
  readonly #reports = new Map<Promise<void>, string>();
  /**
   * The members who recently got the hint that the bridge has no voice. Hints of other kinds must not delay this hint.
   */
  readonly #silenceHints = new LRUCache<string, true>({ max: SILENCE_HINTS_MAX, ttl: SILENCE_GAP_MS });

  constructor(options: TypedLinesOptions) {
    const { bridge, settings } = options;
    this.#options = options;
    this.#textChat = new TextChat({ bridge, settings, channelWord: "room" });
  }

  /** Reads a line in a room. `atMs` is the original time of a line that the room repeats from its history. */
  onRoomLine(room: Room, message: Element, atMs: number | undefined): void {
    const { lastSeen } = this.#options;
    const isMissed = atMs !== undefined && lastSeen.isMissed(room.jid, atMs);
    if (atMs === undefined) lastSeen.note(room.jid);
    else if (!isMissed) return;
    const { resource: nick } = readJid(message.attrs["from"] ?? "");
    const userId = room.occupants.idOf({ nick, occupantId: occupantId(message), jid: undefined });
    const text = bodyOf(message);
    if (userId === undefined || text === undefined) return;
    const id = requestId(room, message, nick);
    // Without an id, the service could not ignore a line that the bridge has already reported.
    if (isMissed && id === undefined) return;
    const channel = { id: room.jid, name: room.name };
    this.#report(
      message,
      { user: { id: userId, name: nick }, channel, text, id },
      isMissed ? undefined : { room, nick },
    );
  }

  /** Reads a private message from an occupant of a room or from an account. */
  onPrivate(message: Element): void {
    const { from = "", type } = message.attrs;
    const { local, resource } = readJid(from);
    const text = bodyOf(message);
    if (local === "" || text === undefined || message.getChild("delay", NS.delay) !== undefined) return;
    if (type !== "chat" && type !== "normal" && type !== undefined) return;
    const { rooms, bridge } = this.#options;
    const room = rooms.get(bareJid(from));
    const account = bareJid(from);
    const id = room?.occupants.idOf({ nick: resource, occupantId: occupantId(message), jid: undefined });
    const userId = room === undefined ? `jid:${account}` : id;
    if (userId === undefined || (room !== undefined && resource === "")) return;
    const found = rooms.find(userId);
    // Games may write to reported members, so strangers must not be reported.
    if (found === undefined && bridge.shownIn(dmChannel(userId)).length === 0) return;
    const sharedChannels = rooms.joined
      .filter(({ occupants }) => occupants.nickOf(userId) !== undefined)
      .map(({ jid }) => ({ id: jid, name: jid }));
    const name = room === undefined ? (found?.nick ?? local) : resource;
    const to = room === undefined ? { account: from } : { room, nick: resource };
    this.#report(message, { user: { id: userId, name }, channel: undefined, text, sharedChannels }, to);
  }

  /** Shows a text only to a member in a room. */
  tell(user: User | string, channel: Channel, text: string): void {
    const room = this.#options.rooms.get(typeof channel === "string" ? channel : channel.id);
    const nick = room?.occupants.nickOf(typeof user === "string" ? user : user.id);
    if (room !== undefined && nick !== undefined) void this.#tell({ room, nick }, text);
  }

  /** Resolves when all lines that were read are reported. */
  async settled(): Promise<void> {
    while (this.#reports.size > 0) await Promise.all(this.#reports.keys());
  }

  /** Reports a line, and sends the member a hint if there is one. `to` is undefined if the line is too old for a hint. */
  #report(message: Element, line: TypedLine, to: HintTo | undefined): void {
    const { log } = this.#options;
    const { id: userId } = line.user;
    const ofMember = [...this.#reports.values()].filter((each) => each === userId).length;
    if (this.#reports.size >= REPORTS_MAX || ofMember >= REPORTS_OF_MEMBER_MAX) {
      return log.warn({ userId }, "dropped a line: too many lines are being reported");
    }
    const work = async (): Promise<void> => {
      // The kit notes a message just after the room has shown it. A line in the same packet can already answer the
      // message.
      await setImmediate();
      const hint = await this.#hintFor(message, line);
      if (hint !== undefined && to !== undefined) await this.#tell(to, hint);
    };
    const reported = work()
      .catch((err: unknown) => log.error({ err }, "a line was not reported"))
      .finally(() => this.#reports.delete(reported));
    this.#reports.set(reported, userId);
  }

  async #hintFor(message: Element, line: TypedLine): Promise<string | undefined> {
    const { user, channel } = line;
    if (isEncrypted(message)) {
      const text = "The games cannot read encrypted lines: turn off OMEMO here.";
      return this.#textChat.explain(user.id, text, "encrypted");
    }
    if (message.getChild("replace", NS.correct) !== undefined) {
      return this.#textChat.explainCorrection(line);
    }
    const room = channel && this.#options.rooms.get(channel.id);
    const isSilent = room?.hasVoice === false && !this.#asksForStatus(line);
    if (isSilent && this.#textChat.isForGames(line)) return this.#silenceHint(user.id);
    return this.#textChat.report(line);
  }

  #silenceHint(userId: string): string | undefined {
    if (this.#silenceHints.has(userId)) return undefined;
    this.#silenceHints.set(userId, true);
    return NO_VOICE;
  }

  /**
   * Whether the line is the status command. The bridge answers this command itself, and says why games do not work in
   * the room.
   */
  #asksForStatus({ text }: TypedLine): boolean {
    const { settings } = this.#options;
    const command = readCommand(text, settings);
    return command !== undefined && isStatusCommand(command, settings);
  }

  async #tell(to: HintTo, text: string): Promise<void> {
    const signal = AbortSignal.timeout(HINT_WITHIN_MS);
    const id = `hint-${randomUUID()}`;
    const sending =
      "account" in to
        ? this.#options.accounts.send({ id, to: to.account, text }, signal)
        : to.room.whisper(id, to.nick, text, signal);
    await sending.catch((error: Error) =>
      this.#options.log.debug({ problem: error.message }, "a hint was not shown"),
    );
  }
}

/** Returns the request id of a line, which stays the same when the room repeats the line. */
function requestId(room: Room, message: Element, nick: string): string | undefined {
  const given = stanzaId(message, room.jid);
  const id = given ?? message.attrs["id"];
  if (id === undefined) return undefined;
  const author = given === undefined ? nick : "";
  return `xmpp-${createHash("sha256")
    .update(JSON.stringify([room.jid, author, id]))
    .digest("base64url")}`;
}
