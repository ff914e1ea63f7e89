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
  /** Id while the member has no account. */
  ownId: string | undefined;
  /** The channels that the bridge shares with the member, in lower case. */
  readonly channels: Set<string>;
}

const MEMBERS_MAX = 10_000;
const ACCOUNT = "account:";
const NICK = "nick:";
/** Excludes what servers read as a channel, several targets, a mask, the members of a server, or a further parameter. */
const NICK_FORM = /^[^\p{Cc}\p{Z}#&+~%$:,.!@*?][^\p{Cc}\p{Z}:,.!@*?]*$/u;

/** Returns whether a line to this name can reach only one person. Servers allow different characters in nicks. */
export function isNick(name: string): boolean {
  return NICK_FORM.test(name);
}

export type Members = ReturnType<typeof createMembers>;

/**
 * The members in the channels of the bridge, and their ids. The id is the services account. Without an account, the id
 * is derived from the first nick of the member, and stays the same when the member changes the nick.
 */
export function createMembers(max = MEMBERS_MAX) {
  /** By the nick in lower case. */
  const members = new LRUCache<string, Member>({ max });
  let lower = (name: string): string => name.toLowerCase();

  function seen(nick: string): Member {
    const known = members.get(lower(nick));
    if (known !== undefined) {
      known.nick = nick;
      return known;
    }
    const member: Member = { nick, account: undefined, ownId: undefined, channels: new Set() };
    members.set(lower(nick), member);
    return member;
  }

  /** Returns an id for a nick. After a change of nicks, the plain id can belong to another member. */
  function freshId(nick: string): string {
    const used = new Set([...members.values()].map(({ ownId }) => ownId));
    const plain = `${NICK}${lower(nick)}`;
    for (let number = 2, id = plain; ; number += 1) {
      if (!used.has(id)) return id;
      id = `${plain}~${number}`;
    }
  }

  function idOf(member: Member): string {
    if (member.account) return `${ACCOUNT}${lower(member.account)}`;
    return (member.ownId ??= freshId(member.nick));
  }

  function leave(nick: string, channel?: string): void {
    const member = members.get(lower(nick));
    if (channel === undefined) member?.channels.clear();
    else member?.channels.delete(lower(channel));
    // Another person can use the nick from now on.
    if (member?.channels.size === 0) members.delete(lower(nick));
  }

  return {
    /** Called for each connection, with the function that returns names in the server's lower case. */
    begin(toLower: (name: string) => string): void {
      lower = toLower;
      members.clear();
    },
    joined: (nick: string, channel: string): void => void seen(nick).channels.add(lower(channel)),
    left: leave,
    renamed(nick: string, newNick: string): void {
      const member = members.get(lower(nick));
      if (member === undefined) return;
      idOf(member);
      members.delete(lower(nick));
      member.nick = newNick;
      members.set(lower(newNick), member);
    },
    hasAccount(nick: string, account: string | false): void {
      seen(nick).account = account;
    },
    /** Returns whether the account of a member is unknown. */
    isUnknown(nick: string): boolean {
      const member = members.get(lower(nick));
      // If the member is in no channel of the bridge, another person can have taken over the nick.
      return member === undefined || member.account === undefined || member.channels.size === 0;
    },
    /** Returns whether a member is in a channel of the bridge. */
    isPresent: (nick: string): boolean => (members.peek(lower(nick))?.channels.size ?? 0) > 0,
    identityOf(nick: string): MemberIdentity {
      const member = seen(nick);
      return { id: idOf(member), name: member.nick };
    },
    /**
     * Returns the member's current nick. For the id of an unknown member, returns the nick in the id; undefined if the
     * id has no nick or a number, or if a member with another id has this nick.
     */
    nickOf(id: string): string | undefined {
      for (const member of members.values()) {
        const isKnown = Boolean(member.account) || member.ownId !== undefined;
        if (isKnown && idOf(member) === id) return member.nick;
      }
      const nick = id.startsWith(NICK) ? id.slice(NICK.length) : "";
      const holder = members.peek(nick);
      const isOther = holder !== undefined && (Boolean(holder.account) || (holder.ownId ?? id) !== id);
      // After a new connection, nobody knows which member had an id that `freshId` has numbered.
      return isNick(nick) && !nick.includes("~") && !isOther ? nick : undefined;
    },
  };
}
