import { setTimeout as sleep } from "node:timers/promises";
import { createBridge, type Bridge } from "chat-bridge-kit";
import {
  isLoopback,
  kitOptions,
  withStatus,
  type BridgeSettings,
  type RunningBridge,
  type Tools,
} from "chat-bridge-runner";
import { createElement as xml, type Element } from "ltx";
import { Accounts } from "./chat/accounts";
import { TypedLines } from "./chat/typed-lines";
import { XmppChat } from "./chat/xmpp-chat";
import { XmppConnection } from "./connection/xmpp-connection";
import { readJid } from "./jid";
import { Rooms } from "./rooms/rooms";
import type { XmppSettings } from "./settings";
import { invitedRooms } from "./state/invited-rooms";
import { LastSeen } from "./state/last-seen";

/** Maximum milliseconds for which `close` waits: first for reports, then for calls to the chat. */
const LAST_REPORTS_MS = 1_000;
const STOP_KIT_MS = 3_000;

/** Starts the bridge between the rooms of an XMPP server and a workspace. Resolves without waiting for connections. */
export async function startXmppBridge(
  settings: BridgeSettings & XmppSettings,
  { log, program, fail }: Tools,
): Promise<RunningBridge> {
  const host = settings.XMPP_SERVER?.host ?? "";
  if (settings.XMPP_TLS === "off" && !isLoopback(host)) {
    log.warn(
      "XMPP_TLS=off: everybody on the network path can read and change what members and the bridge send",
    );
  }
  const bridge = new XmppBridge(settings, log, program);
  bridge.start().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));
  return bridge;
}

/** Connects the parts of the bridge. */
class XmppBridge implements RunningBridge {
  readonly #log: Tools["log"];
  readonly #connection: XmppConnection;
  readonly #accounts: Accounts;
  readonly #rooms: Rooms;
  readonly #lines: TypedLines;
  readonly #lastSeen: LastSeen;
  readonly #bridge: Bridge;

  constructor(settings: BridgeSettings & XmppSettings, log: Tools["log"], program: string) {
    const { STATE_FOLDER: folder, COMMAND_PREFIX: prefix, XMPP_JID: jid } = settings;
    this.#log = log;
    this.#connection = new XmppConnection({
      settings,
      log,
      onUp: (isResumed) => this.#onUp(isResumed),
      onDown: () => this.#rooms.disconnected(),
      onStanza: (stanza) => this.#onStanza(stanza),
    });
    const link = this.#connection;
    this.#accounts = new Accounts(link, readJid(jid).domain);
    this.#lastSeen = new LastSeen(folder, log);
    this.#rooms = new Rooms({
      wanted: settings.XMPP_ROOMS,
      nick: settings.XMPP_NICK,
      allowInvites: settings.XMPP_ALLOW_INVITES,
      link,
      log,
      lastSeen: this.#lastSeen,
      invited: invitedRooms(folder, log),
      onLine: (room, message, atMs) => this.#lines.onRoomLine(room, message, atMs),
    });
    const [rooms, accounts, lastSeen] = [this.#rooms, this.#accounts, this.#lastSeen];
    this.#bridge = createBridge({
      ...kitOptions(settings, log),
      chat: new XmppChat({
        rooms,
        accounts,
        prefix,
        hasNewQuestions: settings.XMPP_NEW_QUESTIONS,
        shown: (chatMessageId) => this.#bridge.shown(chatMessageId),
      }),
      onlyReported: "members",
    });
    const bridge = withStatus(this.#bridge, {
      program,
      settings,
      rooms: () => this.rooms(),
      answer: (text, { user, channel }) => this.#lines.tell(user, channel, text),
    });
    this.#lines = new TypedLines({ settings, bridge, rooms, accounts, lastSeen, log });
  }

  /** Connects to the service and to the server. Rejects like `Bridge.start`. */
  async start(): Promise<void> {
    // The kit loads its messages first, so that the choices of a message are known when the bridge reads the lines that
    // it missed.
    const started = this.#bridge.start();
    this.#connection.open();
    await started;
    this.#log.info("connected to the service");
  }

  states() {
    const { isConnected, problem, waiting } = this.#bridge.status;
    const { state } = this.#connection;
    const rooms = this.#rooms.states;
    const joined = this.#rooms.joined.length;
    // A bridge that is not in any of its rooms counts as disconnected.
    const isOut = state.isConnected && joined === 0 && rooms.length > 0;
    const xmpp = { ...state, joined, wanted: rooms.length };
    return {
      service: { isConnected, problem, waiting },
      xmpp: isOut ? { ...xmpp, isConnected: false, problem: rooms[0]?.problem } : xmpp,
    };
  }

  rooms() {
    return this.#rooms.states;
  }

  async close(): Promise<void> {
    await Promise.race([this.#lines.settled(), sleep(LAST_REPORTS_MS, undefined, { ref: false })]);
    await Promise.race([this.#bridge.stop(), sleep(STOP_KIT_MS, undefined, { ref: false })]);
    this.#rooms.close();
    await this.#connection.close();
    await this.#lastSeen.close();
  }

  #onUp(isResumed: boolean): void {
    // Servers send invitations and direct messages only to clients that are available.
    if (!isResumed) this.#connection.send(xml("presence")).catch(() => undefined);
    this.#rooms.connected(isResumed);
  }

  #onStanza(stanza: Element): void {
    if (this.#rooms.read(stanza) || stanza.name !== "message") return;
    if (stanza.attrs["type"] === "error") this.#accounts.onError(stanza);
    else this.#lines.onPrivate(stanza);
  }
}
