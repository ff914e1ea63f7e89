import type { IrcSession } from "./irc-connection";

/** Maximum bytes of a line of the protocol, without the line break of two bytes. */
const LINE_MAX_BYTES = 510;
/** Maximum bytes of a text. A server can give the bridge a longer host name at any time, so some bytes stay free. */
const TEXT_MAX_BYTES = 400;
/** Maximum bytes of a nick, a user name and a host name on all usual servers. */
const NICK_MAX_BYTES = 30;
const USER_MAX_BYTES = 11;
const HOST_MAX_BYTES = 63;
/** Minimum bytes of a text, for a server that gives the bridge a very long name. */
const TEXT_LEAST_BYTES = 64;

/**
 * The room for text in a line. The server puts `:nick!user@host ` before each line of the bridge, and cuts off the end
 * if the line becomes too long. The bridge learns this prefix from its own `JOIN`.
 */
export class LineRoom {
  #prefixBytes = prefixBytes(NICK_MAX_BYTES, USER_MAX_BYTES, HOST_MAX_BYTES);

  /** Called for each connection. */
  up({ client, isOwn }: Pick<IrcSession, "client" | "isOwn">): void {
    this.#prefixBytes = prefixBytes(NICK_MAX_BYTES, USER_MAX_BYTES, HOST_MAX_BYTES);
    client.on("join", ({ nick, ident, hostname }) => {
      if (!isOwn(nick) || !ident || !hostname) return;
      // The bridge can change its nick at any time, e.g. when the configured nick becomes available.
      const nickBytes = Math.max(NICK_MAX_BYTES, Buffer.byteLength(nick));
      this.#prefixBytes = prefixBytes(nickBytes, Buffer.byteLength(ident), Buffer.byteLength(hostname));
    });
    client.on("displayed host", ({ nick, hostname }) => {
      if (!isOwn(nick)) return;
      const longest = Math.max(HOST_MAX_BYTES, Buffer.byteLength(hostname));
      this.#prefixBytes = prefixBytes(NICK_MAX_BYTES, USER_MAX_BYTES, longest);
    });
  }

  /** Returns the maximum bytes of a line's text. */
  bytesFor(command: "PRIVMSG" | "NOTICE", target: string): number {
    const room = LINE_MAX_BYTES - this.#prefixBytes - Buffer.byteLength(`${command} ${target} :`);
    return Math.max(TEXT_LEAST_BYTES, Math.min(TEXT_MAX_BYTES, room));
  }
}

function prefixBytes(nick: number, user: number, host: number): number {
  return ":!@ ".length + nick + user + host;
}
