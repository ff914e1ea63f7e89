import type { Client } from "irc-framework";

/** A registered connection to the server. */
export interface IrcSession {
  readonly client: Client;
  /** Returns a nick or channel in lower case, according to the case mapping of this server. */
  lower(name: string): string;
  /** Whether a nick is the bridge's own. */
  isOwn(nick: string): boolean;
  /** Whether the server echoes the lines that the bridge sends. */
  readonly hasEcho: boolean;
  /** Whether each text has a tag with the account of its author, if the author has an account. */
  readonly hasAccountTag: boolean;
  /** Whether `WHO` can list accounts. */
  readonly hasWhox: boolean;
}

export function sessionOf(client: Client): IrcSession {
  const { cap } = client.network;
  return {
    client,
    lower: (name) => client.caseLower(name),
    isOwn: (nick) => client.caseLower(nick) === client.caseLower(client.user.nick),
    hasEcho: cap.isEnabled("echo-message"),
    hasAccountTag: cap.isEnabled("account-tag"),
    hasWhox: Boolean(client.network.supports("WHOX")),
  };
}
