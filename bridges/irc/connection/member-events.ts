import type { ServerLine } from "irc-framework";
import { LRUCache } from "lru-cache";
import type { Members } from "../state/members";
import type { IrcSession } from "./irc-connection";
import type { Outbox } from "./outbox";

/** Token that marks the bridge's own requests for accounts. */
const WHOX_TOKEN = "347";
const RPL_WHOSPCRPL = "354";
const WHOIS_WITHIN_MS = 3_000;
const PENDING_MAX = 1_000;

type Controls = Pick<Outbox, "control">;

/** Keeps the channels and accounts of `members` up to date, from the events of the server. */
export function followMembers(session: IrcSession, members: Members, outbox: Controls): void {
  members.begin(session.lower);
  session.client
    .on("join", ({ nick, ident, hostname, channel, account }) => {
      members.joined(nick, channel, addressOf(ident, hostname));
      if (account !== undefined) members.hasAccount(nick, account);
      if (session.isOwn(nick) && session.hasWhox) outbox.control(`WHO ${channel} %tna,${WHOX_TOKEN}`);
    })
    .on("userlist", ({ channel, users }) => {
      for (const { nick } of users) members.joined(nick, channel);
    })
    .on("part", ({ nick, channel }) => members.left(nick, channel))
    .on("kick", ({ kicked, channel }) => members.left(kicked, channel))
    .on("quit", ({ nick, ident, hostname }) => members.quit(nick, addressOf(ident, hostname)))
    .on("nick", ({ nick, new_nick: newNick }) => members.renamed(nick, newNick))
    .on("account", ({ nick, account }) => members.hasAccount(nick, account));
}

function addressOf(ident: string | undefined, hostname: string | undefined): string | undefined {
  return ident === undefined || hostname === undefined ? undefined : `${ident}@${hostname}`;
}

/** Reads the answers to the `WHO` of `followMembers`. */
export function readWhox({ command, params }: ServerLine, members: Members): void {
  const [, token, nick = "", account = "0"] = params;
  if (command !== RPL_WHOSPCRPL || token !== WHOX_TOKEN) return;
  members.hasAccount(nick, account === "0" ? false : account);
}

/**
 * Returns a function that asks for the account of a member with `WHOIS`. The function resolves when the server has
 * answered, or after 3 seconds. Concurrent calls for a member share one request.
 */
export function accountLookup({ client, lower }: IrcSession, members: Members, outbox: Controls) {
  const pending = new LRUCache<string, { promise: Promise<void>; resolve: () => void }>({ max: PENDING_MAX });
  client.on("whois", ({ nick, account, error }) => {
    const key = lower(nick);
    if (error === undefined && pending.has(key)) members.hasAccount(nick, account ?? false);
    pending.get(key)?.resolve();
    pending.delete(key);
  });
  return (nick: string): Promise<void> => {
    const known = pending.get(lower(nick));
    if (known !== undefined) return known.promise;
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
      setTimeout(done, WHOIS_WITHIN_MS).unref();
    });
    pending.set(lower(nick), { promise, resolve });
    outbox.control(`WHOIS ${nick}`);
    return promise;
  };
}
