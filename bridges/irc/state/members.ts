import { LRUCache } from "lru-cache";

/** The id and the name of a member, as the bridge reports them to the service. */
export interface MemberIdentity {
  readonly id: string;
  readonly name: string;
}

interface Member {
  nick: string;
  /** The services account; false if the member has none; undefined if the account is unknown. */
  account: string | false | undefined;
  /** The member's id while the member is not logged in to an account. */
  ownId: string | undefined;
  /** The channels that the bridge shares with the member, in lower case. */
  readonly channels: Set<string>;
}

const MEMBERS_MAX = 10_000;
const QUITS_MAX = 1_000;
/** Milliseconds within which a member who was disconnected, e.g. by a netsplit, usually returns. */
const RETURNS_WITHIN_MS = 600_000;
const ACCOUNT = "account:";
const NICK = "nick:";
/**
 * The pattern excludes names that servers read in another way: as a channel, as several targets, as a mask, as a
 * server's members, or as a further parameter.
 */
const NICK_FORM = /^[^\p{Cc}\p{Z}#&+~%$:,.!@*?][^\p{Cc}\p{Z}:,.!@*?]*$/u;

/** Returns whether a line to this name can reach only one person. Servers allow different characters in nicks. */
export function isNick(name: string): boolean {
  return NICK_FORM.test(name);
}

/**
 * The members in the channels of the bridge, and their ids. The id of a member is the services account. Without an
 * account, the id is derived from the member's first nick, and stays the same when the member changes the nick.
 */
export class Members {
  /** Keyed by the nick in lower case. */
  readonly #members: LRUCache<string, Member>;
  /** The ids of members without an account who have left the server, by nick and address. */
  readonly #quits = new LRUCache<string, string>({ max: QUITS_MAX, ttl: RETURNS_WITHIN_MS });
  #lower = (name: string): string => name.toLowerCase();

  constructor(max = MEMBERS_MAX) {
    this.#members = new LRUCache({ max });
  }

  /** Called for each connection, with the function that returns names in the server's lower case. */
  begin(toLower: (name: string) => string): void {
    this.#lower = toLower;
    this.#members.clear();
  }

  /** @param address user and host, if known: a member who returns with the same nick and address keeps the id */
  joined(nick: string, channel: string, address?: string): void {
    const member = this.#seen(nick);
    member.channels.add(this.#lower(channel));
    const ownId = address === undefined ? undefined : this.#quits.get(this.#quitKey(nick, address));
    if (ownId !== undefined && !this.#ownIds().has(ownId)) member.ownId ??= ownId;
  }

  /** Called when a member left the server. */
  quit(nick: string, address?: string): void {
    const ownId = this.#members.peek(this.#lower(nick))?.ownId;
    if (ownId !== undefined && address !== undefined) this.#quits.set(this.#quitKey(nick, address), ownId);
    this.left(nick);
  }

  /** Called with `channel` when a member left a channel, and without it when a member left the server. */
  left(nick: string, channel?: string): void {
    const member = this.#members.get(this.#lower(nick));
    if (channel === undefined) member?.channels.clear();
    else member?.channels.delete(this.#lower(channel));
    // Another person can use the nick from now on.
    if (member?.channels.size === 0) this.#members.delete(this.#lower(nick));
  }

  renamed(nick: string, newNick: string): void {
    const member = this.#members.get(this.#lower(nick));
    if (member === undefined) return;
    this.#idOf(member);
    this.#members.delete(this.#lower(nick));
    member.nick = newNick;
    this.#members.set(this.#lower(newNick), member);
  }

  hasAccount(nick: string, account: string | false): void {
    this.#seen(nick).account = account;
  }

  forgetAccount(nick: string): void {
    const member = this.#members.get(this.#lower(nick));
    if (member !== undefined) member.account = undefined;
  }

  /** Returns whether the account of a member is unknown. */
  isUnknown(nick: string): boolean {
    const member = this.#members.get(this.#lower(nick));
    // If the member is in no channel of the bridge, another person may have taken over the nick.
    return member === undefined || member.account === undefined || member.channels.size === 0;
  }

  /** Returns whether a member is in a channel of the bridge. */
  isPresent(nick: string): boolean {
    return (this.#members.peek(this.#lower(nick))?.channels.size ?? 0) > 0;
  }

  /** Returns the channels that the bridge shares with a member, in lower case. */
  channelsOf(nick: string): readonly string[] {
    return [...(this.#members.peek(this.#lower(nick))?.channels ?? [])];
  }

  identityOf(nick: string): MemberIdentity {
    const member = this.#seen(nick);
    return { id: this.#idOf(member), name: member.nick };
  }

  /**
   * Returns the member's current nick. For the id of an unknown member, returns the nick in the id. Returns undefined
   * if the id is numbered or contains no nick, or if a different member has this nick.
   */
  nickOf(id: string): string | undefined {
    for (const member of this.#members.values()) {
      const isKnown = Boolean(member.account) || member.ownId !== undefined;
      if (isKnown && this.#idOf(member) === id) return member.nick;
    }
    const nick = id.startsWith(NICK) ? id.slice(NICK.length) : "";
    const holder = this.#members.peek(nick);
    const isOther = holder !== undefined && (Boolean(holder.account) || (holder.ownId ?? id) !== id);
    // An id with "~" is numbered: `#freshId` appends "~" and a number to an id that is in use. After a reconnect, the
    // bridge cannot tell which member had such an id.
    return isNick(nick) && !nick.includes("~") && !isOther ? nick : undefined;
  }

  #seen(nick: string): Member {
    const known = this.#members.get(this.#lower(nick));
    if (known !== undefined) {
      known.nick = nick;
      return known;
    }
    const member: Member = { nick, account: undefined, ownId: undefined, channels: new Set() };
    this.#members.set(this.#lower(nick), member);
    return member;
  }

  #quitKey(nick: string, address: string): string {
    return `${this.#lower(nick)}!${address}`;
  }

  #ownIds(): ReadonlySet<string | undefined> {
    return new Set([...this.#members.values()].map(({ ownId }) => ownId));
  }

  #idOf(member: Member): string {
    if (member.account) return `${ACCOUNT}${this.#lower(member.account)}`;
    return (member.ownId ??= this.#freshId(member.nick));
  }

  /**
   * Returns an id for a nick. Adds a number if the id is in use, because a member who used this nick before keeps the
   * id.
   */
  #freshId(nick: string): string {
    const used = this.#ownIds();
    const plain = `${NICK}${this.#lower(nick)}`;
    for (let number = 2, id = plain; ; number += 1) {
      if (!used.has(id)) return id;
      id = `${plain}~${number}`;
    }
  }
}
