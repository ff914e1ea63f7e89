import ConnectionTCP from "@xmpp/connection-tcp";
import { client, type Client } from "@xmpp/client";
import type { Logger } from "chat-bridge-runner";
import type { Element } from "ltx";
import { readJid } from "../jid";
import type { XmppSettings } from "../settings";
import { pingRequest } from "../stanzas";
import { findServer } from "./find-server";
import { ServerSocket } from "./server-socket";

export interface XmppConnectionOptions {
  readonly settings: XmppSettings;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** Called when the bridge is logged in. If `isResumed`, the server has kept the session, with its rooms. */
  onUp(isResumed: boolean): void;
  onDown(): void;
  /** Called with each message and presence. */
  onStanza(stanza: Element): void;
}

/** The library requires a URL, but the sockets find the server themselves. */
const SERVICE = "xmpps://server";
/** Namespace of stream management. */
const SESSIONS = "urn:xmpp:sm:3";
const STREAMS = "http://etherx.jabber.org/streams";
/** The stream features that let the library continue its login. */
const LOGIN_STEPS = ["mechanisms", "authentication", "bind"];
const ENABLE_WITHIN_MS = 2_000;
const STEP_WITHIN_MS = 20_000;
const LOGIN_WITHIN_MS = 45_000;
/** Milliseconds before the next attempt, after the first failure, the second failure, … */
const RETRY_MS = [1_000, 2_000, 5_000, 15_000, 30_000, 60_000];
const PING_EVERY_MS = 60_000;
const ANSWER_WITHIN_MS = 20_000;
const STOP_WITHIN_MS = 1_500;

/**
 * The connection to the server, which is opened again when it is lost.
 *
 *     closed ──▶ connecting ──▶ up
 *        ▲ ▲         │  ▲        │
 *        │ │         ▼  │        │
 *        │ └───── waiting ◀──────┘
 *        └── every state, by `close`
 */
type State = "connecting" | "up" | "waiting" | "closed";

export class XmppConnection {
  readonly #options: XmppConnectionOptions;
  readonly #domain: string;
  readonly #client: Client;
  #socket: ServerSocket | undefined;
  #state: State = "closed";
  #isLoggedIn = false;
  #problem = "not yet connected";
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #pinging: NodeJS.Timeout | undefined;

  constructor(options: XmppConnectionOptions) {
    const { settings } = options;
    const { local: username, domain } = readJid(settings.XMPP_JID);
    this.#options = options;
    this.#domain = domain;
    this.#client = client({
      service: SERVICE,
      domain,
      username,
      password: settings.XMPP_PASSWORD,
      timeout: STEP_WITHIN_MS,
    });
    this.#client.reconnect.stop();
    this.#client.transports.splice(0, Infinity, this.#transport());
    this.#client
      .on("error", (error: Error) => this.#onError(error))
      .on("online", () => this.#online())
      .on("nonza", (element: Element) => this.#onNonza(element))
      .on("disconnect", () => this.#down())
      .on("element", () => this.#socket?.stanzaRead())
      .on("stanza", (stanza: Element) => this.#onStanza(stanza));
    this.#client.streamManagement.on("resumed", () => this.#up(true));
  }

  get state() {
    const isConnected = this.#state === "up";
    return { isConnected, problem: isConnected ? undefined : this.#problem };
  }

  open(): void {
    this.#pinging = setInterval(() => void this.#ping(), PING_EVERY_MS);
    this.#connect();
  }

  async send(stanza: Element): Promise<void> {
    if (this.#state !== "up") throw new Error("the bridge is not connected");
    await this.#client.send(stanza);
  }

  /** Resolves to the answer. Rejects with the property `condition` if the answer is an error. */
  async request(iq: Element): Promise<Element> {
    if (this.#state !== "up") throw new Error("the bridge is not connected");
    return this.#client.iqCaller.request(iq, ANSWER_WITHIN_MS);
  }

  async close(): Promise<void> {
    const wasUp = this.#state === "up";
    this.#state = "closed";
    clearTimeout(this.#timer);
    clearInterval(this.#pinging);
    const timer = setTimeout(() => this.#socket?.destroy(), STOP_WITHIN_MS);
    if (wasUp) await this.#client.stop().catch(() => undefined);
    clearTimeout(timer);
    this.#socket?.destroy();
  }

  /** Returns the class with which the library opens connections. */
  #transport(): unknown {
    const { settings } = this.#options;
    const domain = this.#domain;
    const options = { domain, ca: settings.XMPP_CA, addresses: () => findServer(domain, settings) };
    const note = (socket: ServerSocket): void => void (this.#socket = socket);
    class Transport extends ConnectionTCP {
      override socketParameters(): object {
        return {};
      }
    }
    Transport.prototype.NS = "jabber:client";
    Transport.prototype.Socket = class extends ServerSocket {
      constructor() {
        super(options);
        note(this);
      }
    };
    return Transport;
  }

  #connect(): void {
    this.#state = "connecting";
    this.#isLoggedIn = false;
    const late = new Error(`no login within ${LOGIN_WITHIN_MS / 1_000} s`);
    this.#timer = setTimeout(() => this.#failed(late), LOGIN_WITHIN_MS);
    const open = async (): Promise<void> => {
      await this.#client.connect(SERVICE);
      await this.#client.open({ domain: this.#domain });
    };
    open().catch((error: unknown) => this.#failed(error as Error));
  }

  /**
   * The library has logged in, and now enables stream management (XEP-0198) if the server supports it. The library
   * would miscount stanzas that are sent before the server answers.
   */
  #online(): void {
    if (this.#state !== "connecting") return;
    clearTimeout(this.#timer);
    this.#isLoggedIn = true;
    this.#timer = setTimeout(() => this.#up(false), ENABLE_WITHIN_MS);
  }

  #onNonza(element: Element): void {
    const isAnswer = element.is("enabled", SESSIONS) || element.is("failed", SESSIONS);
    if (isAnswer && this.#isLoggedIn) setImmediate(() => this.#up(false));
    // If the server offers no login, the library waits forever without an error.
    const isBeforeLogin = this.#state === "connecting" && !this.#isLoggedIn;
    const hasStep = LOGIN_STEPS.some((name) => element.getChild(name) !== undefined);
    if (element.is("features", STREAMS) && isBeforeLogin && !hasStep) {
      this.#failed(new Error("the server accepts logins only with encryption: set XMPP_TLS=auto"));
    }
  }

  #up(isResumed: boolean): void {
    if (this.#state !== "connecting") return;
    clearTimeout(this.#timer);
    this.#state = "up";
    this.#failures = 0;
    this.#options.log.info({ isResumed }, "connected to the XMPP server");
    // A server sends messages of rooms only to available clients.
    this.#options.onUp(isResumed);
  }

  #onError(error: Error): void {
    // The library itself closes the stream after a stream error. Other errors do not affect the connection.
    if (this.#state === "up")
      this.#options.log.warn({ problem: describe(error) }, "an error of the XMPP server");
    else this.#failed(error);
  }

  /** Handles a failed login or a broken connection. */
  #failed(error: Error): void {
    if (this.#state === "closed") return;
    const problem = describe(error);
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#options.log.warn({ problem }, "a problem with the connection to the XMPP server");
    }
    // The event `disconnect` follows. Without this, a stream that never logged in would stay open.
    this.#socket?.destroy();
  }

  #down(): void {
    if (this.#state === "closed" || this.#state === "waiting") return;
    if (this.#state === "up") this.#problem = "the connection was lost";
    this.#state = "waiting";
    clearTimeout(this.#timer);
    this.#options.onDown();
    const waitMs = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#options.log.warn(
      { problem: this.#problem, waitMs },
      "no connection to the XMPP server: trying again",
    );
    this.#timer = setTimeout(() => this.#connect(), waitMs);
  }

  #onStanza(stanza: Element): void {
    if (stanza.name === "iq") return;
    try {
      this.#options.onStanza(stanza);
    } catch (err) {
      this.#options.log.error({ err }, "skipped a stanza that cannot be read");
    }
  }

  /** Detects a dead connection that the operating system still reports as open. */
  async #ping(): Promise<void> {
    if (this.#state !== "up") return;
    try {
      await this.request(pingRequest(this.#domain));
    } catch (error) {
      const hasAnswer = "condition" in (error as object);
      if (!hasAnswer && this.#state === "up") this.#failed(new Error("the server does not answer"));
    }
  }
}

/** Returns the reason for a failure, with advice. */
function describe(error: Error & { condition?: string }): string {
  const { condition, message } = error;
  if (condition === "not-authorized" || condition === "account-disabled") {
    return `the login failed (${condition}): check XMPP_JID and XMPP_PASSWORD`;
  }
  if (condition === "conflict") return "another client with the same resource has replaced this connection";
  if (condition === "host-unknown") return "the server does not serve the domain of XMPP_JID: check XMPP_JID";
  return message || condition || "unknown";
}
