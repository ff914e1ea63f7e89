import { Client, type ClientOptions, type ServerLine } from "irc-framework";
import type { ConnectionState, Logger } from "chat-bridge-runner";
import { sessionOf, type IrcSession } from "./irc-session";

export interface IrcConnectionOptions {
  readonly client: ClientOptions;
  readonly log: Logger;
  /** Called when the bridge is registered with the server. The function adds listeners to the session's client. */
  onUp(session: IrcSession): void;
  /** Called when a registered connection is lost. */
  onDown(): void;
  /** Called with each line of a registered connection. */
  onLine(session: IrcSession, line: ServerLine): void;
  /** Sends a line within the limits of the flood gate. */
  control(line: string): void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
/** Milliseconds after which a connection counts as stable, and the next wait begins with `FIRST_WAIT_MS`. */
const STABLE_AFTER_MS = 60_000;
const REGAIN_EVERY_MS = 60_000;
/** Numeric replies that reject a nick, besides those for which irc-framework has events. */
const NICK_REJECTED = new Set(["436", "437"]);
/** Numeric replies for the end or the absence of the message of the day. The server sends its parameters earlier. */
const READY = new Set(["376", "422"]);

/** Connects to the server, and reconnects with growing waits whenever the connection is lost. */
export function connectToIrc(options: IrcConnectionOptions) {
  const { log, onUp, onDown, onLine, control } = options;
  const wanted = options.client.nick;
  let client: Client | undefined;
  let session: IrcSession | undefined;
  let problem: string | undefined = "not connected yet";
  let failures = 0;
  let isClosing = false;
  let timer: NodeJS.Timeout | undefined;
  const regain = setInterval(regainNick, REGAIN_EVERY_MS);

  function regainNick(): void {
    if (session !== undefined && !session.isOwn(wanted)) control(`NICK ${wanted}`);
  }

  function open(): void {
    const current = new Client();
    client = current;
    let tries = 0;
    let upAt: number | undefined;
    /** Reason that the server gave before it closed the connection, e.g. a ban. */
    let reason: string | undefined;

    current.connection.on("message", (line) => {
      if (session === undefined && READY.has(line.command)) {
        session = sessionOf(current);
        upAt = performance.now();
        problem = undefined;
        log.info({ nick: current.user.nick, network: current.network.name }, "connected to the IRC server");
        onUp(session);
        regainNick();
      }
      if (session !== undefined) onLine(session, line);
      else if (NICK_REJECTED.has(line.command)) otherNick({ nick: line.params[1] ?? wanted });
    });
    const otherNick = ({ nick }: { readonly nick: string }): void => {
      if (session !== undefined) return;
      tries += 1;
      log.warn({ nick }, "the nick is not available: trying another, and the wanted nick later");
      // Some servers allow only nine characters.
      const suffix = tries <= 2 ? "_".repeat(tries) : String(Math.floor(Math.random() * 1000));
      current.raw(`NICK ${wanted.slice(0, Math.max(1, (tries <= 2 ? 30 : 9) - suffix.length))}${suffix}`);
    };
    const freed = ({ nick }: { readonly nick: string }): void => {
      if (session !== undefined && session.lower(nick) === session.lower(wanted)) regainNick();
    };
    current
      .on("nick in use", otherNick)
      .on("nick invalid", otherNick)
      .on("quit", freed)
      .on("nick", freed)
      .on("sasl failed", (event) => {
        reason = `the login with SASL failed (${event.reason}): check IRC_SASL_ACCOUNT and its password`;
      })
      .on("irc error", (event) => {
        if (event.error === "irc" || event.error === "banned_from_network") reason ??= event.reason;
        if (event.error === "password_mismatch") reason = "the server rejects IRC_PASSWORD";
      })
      .on("socket close", (error) => {
        if (client !== current) return;
        current.removeAllListeners();
        const isStable = upAt !== undefined && performance.now() - upAt > STABLE_AFTER_MS;
        failures = isStable ? 1 : failures + 1;
        if (session !== undefined) {
          session = undefined;
          onDown();
        }
        problem = reason ?? (error instanceof Error ? error.message : "the server closed the connection");
        if (isClosing) return;
        const waitMs = waitAfter(failures);
        log.warn({ problem, waitMs }, "no connection to the IRC server: trying again");
        timer = setTimeout(open, waitMs);
      });
    current.connect({ ...options.client });
  }
  open();

  return {
    get session(): IrcSession | undefined {
      return session;
    },
    state: (): ConnectionState => ({ isConnected: session !== undefined, problem }),
    /** Sends a line to the server. Does nothing when there is no connection. */
    write: (line: string): void => session?.client.raw(line),
    /** Sends `QUIT`, and resolves when the connection is closed. Closes the connection by force after `withinMs`. */
    async close(reason: string, withinMs: number): Promise<void> {
      isClosing = true;
      clearInterval(regain);
      clearTimeout(timer);
      const current = client;
      if (current === undefined || !current.connected) return;
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => current.connection.end(null, true), withinMs);
        current.on("socket close", () => {
          clearTimeout(late);
          resolve();
        });
        current.quit(reason);
      });
    },
  };
}

/**
 * Returns the wait after `failures` failures, ms: 1 s, 2 s, 4 s, … up to 5 minutes. The wait has up to a quarter more
 * at random, so that bridges do not reconnect at the same time.
 */
function waitAfter(failures: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(wait * (1 + Math.random() / 4));
}
