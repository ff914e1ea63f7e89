import { Client, type ClientOptions, type ServerLine } from "irc-framework";
import type { ConnectionState, Logger } from "chat-bridge-runner";
import type { Outbox } from "./outbox";

/** A registered connection to the server. */
export interface IrcSession {
  readonly client: Client;
  /** Returns a nick or channel in lower case, according to the case mapping of this server. */
  lower(name: string): string;
  /** Whether a nick is the bridge's own. */
  isOwn(nick: string): boolean;
  /** Whether the server echoes the lines that the bridge sends. */
  readonly hasEcho: boolean;
  /** Whether the server tags each text with the account of its author, if the author has one. */
  readonly hasAccountTag: boolean;
  /** Whether `WHO` can list accounts. */
  readonly hasWhox: boolean;
}

export interface IrcConnectionOptions {
  readonly client: ClientOptions;
  readonly log: Logger;
  /** Called when the bridge is registered with the server. The function adds listeners to the session's client. */
  onUp(session: IrcSession): void;
  /** Called when a registered connection is lost. */
  onDown(): void;
  /** Called with each line of a registered connection. */
  onLine(session: IrcSession, line: ServerLine): void;
  readonly outbox: Pick<Outbox, "control">;
}

type State =
  | { readonly is: "waiting"; readonly timer?: NodeJS.Timeout }
  | { readonly is: "connecting"; readonly client: Client; nicksRejected: number }
  | { readonly is: "up"; readonly client: Client; readonly session: IrcSession; readonly sinceMs: number }
  | { readonly is: "closing"; readonly client: Client; readonly session: IrcSession | undefined }
  | { readonly is: "closed" };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  waiting: ["connecting", "closed"],
  connecting: ["up", "waiting", "closing"],
  up: ["waiting", "closing"],
  closing: ["closed"],
  closed: [],
};

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
/**
 * Milliseconds after which a connection counts as stable. After losing a stable connection, the bridge waits only
 * `FIRST_WAIT_MS` before it reconnects.
 */
const STABLE_AFTER_MS = 60_000;
const REGAIN_EVERY_MS = 60_000;
/** Numeric replies that reject a nick, but for which irc-framework emits no event. */
const NICK_REJECTED = new Set(["436", "437"]);
/** Numeric replies that follow the server's list of parameters: the message of the day has ended, or does not exist. */
const READY = new Set(["376", "422"]);

/**
 * The connection to the server. Reconnects with growing waits whenever the connection is lost.
 *
 *     waiting ──open()──▶ connecting ──registered──▶ up
 *      │   ▲                │    │                  │ │
 *      │   └── closed ──────┴────┼──────────────────┘ │
 *      │                         └─────close()──────┬─┘
 *      └──close()──▶ closed ◀────── closed ────── closing
 */
export class IrcConnection {
  readonly #options: IrcConnectionOptions;
  readonly #regain: NodeJS.Timeout;
  #state: State = { is: "waiting" };
  /** Number of connections in a row that failed, or were lost before they were stable. */
  #failures = 0;
  #problem: string | undefined = "not connected yet";
  /** Reason that the server gave before it closed the connection, e.g. a ban. */
  #reason: string | undefined;

  constructor(options: IrcConnectionOptions) {
    this.#options = options;
    this.#regain = setInterval(() => this.#regainNick(), REGAIN_EVERY_MS);
  }

  get session(): IrcSession | undefined {
    return "session" in this.#state ? this.#state.session : undefined;
  }

  get state(): ConnectionState {
    return { isConnected: this.session !== undefined, problem: this.#problem };
  }

  /** Sends a line to the server. Does nothing when there is no connection. */
  write(line: string): void {
    this.session?.client.raw(line);
  }

  /** Connects to the server. Call once. */
  open(): void {
    const client = new Client();
    this.#reason = undefined;
    this.#enter({ is: "connecting", client, nicksRejected: 0 });
    client.connection.on("message", (line) => this.#onLine(line));
    client
      .on("nick in use", ({ nick }) => this.#tryOtherNick(nick))
      .on("nick invalid", ({ nick }) => this.#tryOtherNick(nick))
      .on("quit", ({ nick }) => this.#onNickFreed(nick))
      .on("nick", ({ nick }) => this.#onNickFreed(nick))
      .on("sasl failed", ({ reason }) => {
        this.#reason = `the login with SASL failed (${reason}): check IRC_SASL_ACCOUNT and its password`;
      })
      .on("irc error", ({ error, reason }) => {
        if (error === "irc" || error === "banned_from_network") this.#reason ??= reason;
        if (error === "password_mismatch") this.#reason = "the server rejects IRC_PASSWORD";
      })
      .on("socket close", (error) => {
        client.removeAllListeners();
        this.#onClosed(error);
      });
    client.connect({ ...this.#options.client });
  }

  /** Sends `QUIT`, and resolves when the connection is closed. Closes the connection by force after `withinMs`. */
  async close(reason: string, withinMs: number): Promise<void> {
    clearInterval(this.#regain);
    const state = this.#state;
    if (state.is === "waiting") {
      clearTimeout(state.timer);
      return this.#enter({ is: "closed" });
    }
    if (state.is !== "connecting" && state.is !== "up") return;
    const { client } = state;
    this.#enter({ is: "closing", client, session: this.session });
    if (!client.connected) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => client.connection.end(null, true), withinMs);
      client.on("socket close", () => {
        clearTimeout(late);
        resolve();
      });
      client.quit(reason);
    });
  }

  #enter(next: State): void {
    if (!NEXT[this.#state.is].includes(next.is)) {
      throw new Error(`an IRC connection cannot change from ${this.#state.is} to ${next.is}`);
    }
    this.#state = next;
  }

  #onLine(line: ServerLine): void {
    const { log, client: wanted, onUp, onLine } = this.#options;
    const state = this.#state;
    if (state.is === "connecting" && READY.has(line.command)) {
      const { client } = state;
      const session = sessionOf(client);
      this.#enter({ is: "up", client, session, sinceMs: performance.now() });
      this.#problem = undefined;
      log.info({ nick: client.user.nick, network: client.network.name }, "connected to the IRC server");
      onUp(session);
      this.#regainNick();
    }
    if (this.session !== undefined) onLine(this.session, line);
    else if (NICK_REJECTED.has(line.command)) this.#tryOtherNick(line.params[1] ?? wanted.nick);
  }

  #tryOtherNick(nick: string): void {
    const state = this.#state;
    if (state.is !== "connecting") return;
    const { client, log } = this.#options;
    const tries = (state.nicksRejected += 1);
    log.warn(
      { nick },
      "the nick is not available: using a different nick, and retrying the wanted nick later",
    );
    // Some servers limit a nick to nine characters.
    const suffix = tries <= 2 ? "_".repeat(tries) : String(Math.floor(Math.random() * 1000));
    const kept = client.nick.slice(0, Math.max(1, (tries <= 2 ? 30 : 9) - suffix.length));
    state.client.raw(`NICK ${kept}${suffix}`);
  }

  #onNickFreed(nick: string): void {
    const { session } = this;
    if (session !== undefined && session.lower(nick) === session.lower(this.#options.client.nick)) {
      this.#regainNick();
    }
  }

  #regainNick(): void {
    const { nick } = this.#options.client;
    if (this.session?.isOwn(nick) === false) this.#options.outbox.control(`NICK ${nick}`);
  }

  #onClosed(error: Error | false | undefined): void {
    const state = this.#state;
    const { log, onDown } = this.#options;
    const isStable = state.is === "up" && performance.now() - state.sinceMs > STABLE_AFTER_MS;
    this.#failures = isStable ? 1 : this.#failures + 1;
    const problem =
      this.#reason ?? (error instanceof Error ? error.message : "the server closed the connection");
    this.#problem = problem;
    if (state.is === "closing") this.#enter({ is: "closed" });
    else {
      const waitMs = waitAfter(this.#failures);
      log.warn({ problem, waitMs }, "no connection to the IRC server: trying again");
      this.#enter({ is: "waiting", timer: setTimeout(() => this.open(), waitMs) });
    }
    if ("session" in state && state.session !== undefined) onDown();
  }
}

function sessionOf(client: Client): IrcSession {
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

/**
 * Returns the wait after `failures` failures, ms: 1 s, 2 s, 4 s, … up to 5 minutes. The wait is randomly extended by up
 * to a quarter, so that bridges do not reconnect at the same time.
 */
function waitAfter(failures: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(wait * (1 + Math.random() / 4));
}
