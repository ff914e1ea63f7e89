import type { Logger, RoomState } from "chat-bridge-runner";
import type { Element } from "ltx";
import { bareJid, readJid, ROOM_JID_MAX } from "../jid";
import type { WantedRoom } from "../settings";
import type { LastSeen } from "../state/last-seen";
import type { InvitedRooms } from "../state/invited-rooms";
import { NS } from "../stanzas";
import { Room, type RoomOptions } from "./room";
import type { RoomLink } from "./room-messages";

export interface RoomsOptions {
  readonly wanted: readonly WantedRoom[];
  readonly nick: string;
  /** Accounts, rooms and domains that may invite the bridge, or "*". */
  readonly allowInvites: readonly string[];
  readonly link: RoomLink;
  readonly log: Logger;
  readonly lastSeen: LastSeen;
  readonly invited: InvitedRooms;
  readonly onLine: RoomOptions["onLine"];
}

/** Maximum number of rooms to which the bridge is invited. */
const INVITED_MAX = 100;
/** Milliseconds without a stanza from a room after which the bridge asks the room whether the bridge is still in it. */
const QUIET_MS = 5 * 60_000;
const ASK_EVERY_MS = 60_000;

/** The bridge's rooms: the rooms in the settings, and the rooms to which the bridge was invited. */
export class Rooms {
  readonly #options: RoomsOptions;
  readonly #rooms = new Map<string, Room>();
  readonly #asking: NodeJS.Timeout;
  #isOnline = false;

  constructor(options: RoomsOptions) {
    this.#options = options;
    for (const { jid, password } of options.wanted) this.#add(jid, password, true);
    for (const { jid, password } of options.invited.load()) {
      if (!this.#rooms.has(jid) && this.#rooms.size < INVITED_MAX) this.#add(jid, password, false);
    }
    this.#asking = setInterval(() => this.#askQuietRooms(), ASK_EVERY_MS);
  }

  get states(): readonly RoomState[] {
    return [...this.#rooms.values()].map(({ state }) => state);
  }

  get joined(): readonly Room[] {
    return [...this.#rooms.values()].filter(({ isJoined }) => isJoined);
  }

  get(jid: string): Room | undefined {
    return this.#rooms.get(jid);
  }

  /** Returns a room in which a member is present, and the member's nick in this room. */
  find(userId: string): { readonly room: Room; readonly nick: string } | undefined {
    for (const room of this.joined) {
      const nick = room.occupants.nickOf(userId);
      if (nick !== undefined) return { room, nick };
    }
    return undefined;
  }

  /** Called when the connection is up. */
  connected(isResumed: boolean): void {
    this.#isOnline = true;
    for (const room of this.#rooms.values()) {
      if (isResumed) room.resumed();
      else room.join();
    }
  }

  disconnected(): void {
    if (!this.#isOnline) return;
    this.#isOnline = false;
    for (const room of this.#rooms.values()) room.disconnected();
  }

  /** Reads a stanza. Returns false if the stanza is not from a room. */
  read(stanza: Element): boolean {
    const { from = "" } = stanza.attrs;
    if (this.#isInvitation(stanza)) return true;
    const room = this.#rooms.get(bareJid(from));
    if (room === undefined) return false;
    if (
      stanza.name === "message" &&
      stanza.attrs["type"] !== "groupchat" &&
      stanza.attrs["type"] !== "error"
    ) {
      return false;
    }
    room.read(stanza);
    return true;
  }

  close(): void {
    clearInterval(this.#asking);
    for (const room of this.#rooms.values()) room.leave();
  }

  #add(jid: string, password: string | undefined, isConfigured: boolean): Room {
    const { nick, link, log, lastSeen, onLine } = this.#options;
    const room = new Room({
      jid,
      password,
      nick,
      isConfigured,
      link,
      log,
      historySeconds: () => lastSeen.historySeconds(jid),
      onLine,
      onJoined: () => lastSeen.noteJoin(jid),
      onForget: () => this.#forget(jid),
    });
    this.#rooms.set(jid, room);
    return room;
  }

  #forget(jid: string): void {
    this.#rooms.delete(jid);
    this.#saveInvited();
  }

  #saveInvited(): void {
    const invited = [...this.#rooms.values()].filter(({ isConfigured }) => !isConfigured);
    this.#options.invited.save(invited.map(({ jid, password }) => ({ jid, password })));
  }

  /** Reads an invitation that the room passes on (XEP-0045), or that a member sends directly (XEP-0249). */
  #isInvitation(stanza: Element): boolean {
    if (stanza.name !== "message" || stanza.attrs["type"] === "error") return false;
    const { from = "" } = stanza.attrs;
    const x = stanza.getChild("x", NS.mucUser);
    const mediated = x?.getChild("invite");
    const direct = stanza.getChild("x", NS.conference);
    if (mediated !== undefined) {
      const jid = bareJid(from);
      const by = inviterOf(jid, bareJid(mediated.attrs["from"] ?? ""));
      this.#onInvited(jid, by, x?.getChildText("password") ?? undefined);
      return true;
    }
    if (direct === undefined || stanza.attrs["type"] === "groupchat") return false;
    this.#onInvited(bareJid(direct.attrs["jid"] ?? ""), bareJid(from), direct.attrs["password"]);
    return true;
  }

  /** @param by the verified account or room that invites the bridge */
  #onInvited(jid: string, by: string, password: string | undefined): void {
    const { allowInvites, log } = this.#options;
    const known = this.#rooms.get(jid);
    if (known !== undefined) return known.invited();
    const isAllowed = allowInvites.some((entry) => ["*", by, readJid(by).domain].includes(bareJid(entry)));
    const problem = !isAllowed
      ? notAllowed(by)
      : this.#rooms.size >= INVITED_MAX
        ? `the bridge has ${INVITED_MAX} rooms`
        : readJid(jid).local === "" || jid.length > ROOM_JID_MAX
          ? `the address of the room is invalid, or longer than ${ROOM_JID_MAX} characters`
          : undefined;
    if (problem !== undefined) {
      return log.warn({ room: shortened(jid), by: shortened(by), problem }, "ignored an invitation");
    }
    const room = this.#add(jid, password, false);
    this.#saveInvited();
    if (this.#isOnline) room.join();
  }

  #askQuietRooms(): void {
    for (const room of this.joined) if (room.quietMs > QUIET_MS) void room.ask();
  }
}

/**
 * Returns who invites the bridge to a room. Nobody verifies the account that a room names, and a stranger's server can
 * name any account. So the named account counts as the inviter only if its domain also runs the room. Otherwise, the
 * room itself counts as the inviter. A room that hides accounts also names itself.
 */
function inviterOf(room: string, named: string): string {
  const [home, { domain }] = [readJid(room).domain, readJid(named)];
  return home === domain || home.endsWith(`.${domain}`) ? named : room;
}

/** Returns why an invitation is ignored, for the log, with the entries that would allow the invitation. */
function notAllowed(by: string): string {
  const entries = [by, readJid(by).domain].filter((entry) => entry !== "").map(shortened);
  return `XMPP_ALLOW_INVITES does not allow it: add ${[...new Set([...entries, "*"])].join(" or ")}`;
}

/** Strangers choose the addresses in an invitation, so the log contains only the beginning of a long address. */
function shortened(jid: string): string {
  return jid.length > ROOM_JID_MAX ? `${jid.slice(0, ROOM_JID_MAX)}…` : jid;
}
