import { createHash } from "node:crypto";
import { bareJid } from "../jid";

/** The properties of an occupant that a room shows. */
export interface Seen {
  readonly nick: string;
  /** The occupant id of XEP-0421, or undefined if the room gives none. */
  readonly occupantId: string | undefined;
  /** The account, or undefined if the room hides the account. */
  readonly jid: string | undefined;
}

interface Occupant extends Seen {
  /** The id for the service. */
  readonly id: string;
}

/** Maximum length of an id in the contract. */
const ID_MAX = 128;
/**
 * Maximum number of known occupants of a room. They use about 1 MB of memory for each room. Others get no private
 * texts.
 */
const OCCUPANTS_MAX = 2_000;

/**
 * The members in a room, and their ids. In a room that shows all accounts, the id is the account. In other rooms, the
 * id is the occupant id. Without occupant ids, it is the account if the bridge is a moderator and sees the account, or
 * else the nick.
 */
export class Occupants {
  readonly #room: string;
  readonly #byNick = new Map<string, Occupant>();
  readonly #nickById = new Map<string, string>();
  /** Ids of members who are changing their nick, keyed by the new nick. */
  readonly #renamed = new Map<string, string>();
  /** Whether the room shows all accounts. */
  #isNonAnonymous = false;

  constructor(room: string) {
    this.#room = room;
  }

  /** Called when the room shows all accounts. A room reports this setting only after it has listed the occupants. */
  showAccounts(): void {
    this.#isNonAnonymous = true;
    for (const seen of this.#byNick.values()) this.put(seen);
  }

  /** Adds or updates an occupant. */
  put(seen: Seen): void {
    const { nick } = seen;
    const known = this.#byNick.get(nick);
    const carried = this.#renamed.get(nick);
    this.#renamed.delete(nick);
    if (known === undefined && this.#byNick.size >= OCCUPANTS_MAX) return;
    const id = this.#ownId(seen) ?? known?.id ?? carried ?? this.#unusedNickId(nick);
    if (known !== undefined && known.id !== id) this.#forgetId(known);
    this.#byNick.set(nick, { ...seen, id });
    this.#nickById.set(id, nick);
  }

  /** Keeps the id of an occupant who is changing their nick. */
  rename(from: string, to: string): void {
    const known = this.#byNick.get(from);
    this.remove(from);
    if (known !== undefined && this.#renamed.size < OCCUPANTS_MAX) this.#renamed.set(to, known.id);
  }

  remove(nick: string): void {
    const known = this.#byNick.get(nick);
    if (known === undefined) return;
    this.#byNick.delete(nick);
    this.#forgetId(known);
  }

  clear(): void {
    this.#byNick.clear();
    this.#nickById.clear();
    this.#renamed.clear();
    this.#isNonAnonymous = false;
  }

  nickOf(id: string): string | undefined {
    return this.#nickById.get(id);
  }

  /** Returns the id of a message's author, or undefined if the id is unknown, e.g. because the author has left. */
  idOf(seen: Seen): string | undefined {
    const known = this.#byNick.get(seen.nick);
    const isSame = known !== undefined && (seen.occupantId ?? known.occupantId) === known.occupantId;
    if (isSame) return known.id;
    // Messages do not contain accounts.
    return this.#isNonAnonymous ? undefined : this.#ownId(seen);
  }

  /** Forgets an id unless the member is still in the room with another nick. */
  #forgetId({ id, nick }: Occupant): void {
    if (this.#nickById.get(id) !== nick) return;
    this.#nickById.delete(id);
    const other = [...this.#byNick.values()].find((each) => each.id === id && each.nick !== nick);
    if (other !== undefined) this.#nickById.set(id, other.nick);
  }

  /** Returns an occupant's id that does not depend on the nick, or undefined if the room gives no such id. */
  #ownId({ occupantId, jid }: Seen): string | undefined {
    const account = jid === undefined ? undefined : shortened("jid:", bareJid(jid));
    if (this.#isNonAnonymous && account !== undefined) return account;
    // A room could copy another room's occupant ids, so the result contains the id of the room.
    return occupantId === undefined ? account : shortened("occupant:", `${this.#room}/${occupantId}`);
  }

  #unusedNickId(nick: string): string {
    let name = nick;
    // A member who was called `nick` can still be in the room, with another nick and this id.
    while (this.#nickById.has(shortened("nick:", `${this.#room}/${name}`))) name += "'";
    return shortened("nick:", `${this.#room}/${name}`);
  }
}

function shortened(type: string, rest: string): string {
  if (type.length + rest.length <= ID_MAX) return type + rest;
  return `${type}sha256:${createHash("sha256").update(rest).digest("base64url")}`;
}
