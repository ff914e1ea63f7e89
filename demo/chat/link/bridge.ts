import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { createCatchUp, type Chat } from "../../../kit/catch-up";
import { dmChannel, type InboundEvent } from "../../../kit/inbound-event";
import { createPushReceiver } from "../../../kit/receive-push";
import { createSender, type Sender, type SendResult } from "../../../kit/sender";
import type { ChatConfig } from "../config";
import type { Room } from "../room/room";
import {
  PUSH_BREAKS,
  type Break,
  type Channel,
  type LinkMode,
  type LinkState,
  type Member,
  type StreamEvent,
} from "../shapes";
import { listenForPushes, PUSH_PATH } from "../wire/push-listener";
import { startTap } from "../wire/tap";
import type { WireLog } from "../wire/wire-log";
import { createFaults } from "./faults";
import { setTargetUrl } from "./mode-switch";
import { createObservation } from "./observation";
import { createOutage } from "./outage";
import { createPolling } from "./polling";

export interface BridgeOptions {
  readonly config: ChatConfig;
  readonly room: Room;
  readonly wire: WireLog;
  readonly log: Logger;
  /** Called with each new state of the bridge, and when events expired before the bridge fetched them. */
  readonly tell: (event: StreamEvent) => void;
}

/**
 * Maximum number of attempts to send a report. The sender usually reaches its time limit of one minute before this
 * maximum, so an outage of less than a minute loses no reports.
 */
const ATTEMPTS_MAX = 20;
/** Maximum milliseconds for which the bridge waits for the answer to the last report before a break begins. */
const ASKED_WITHIN_MS = 3_000;
/** The breaks for which the service refuses the bridge's requests. */
const REFUSED: readonly Break[] = ["secret", "clock"];

/**
 * Returns the room as the kit's `Chat`. If you write a bridge, begin with this function. A message for an unknown
 * channel or member is accepted and shown to nobody, because a rejection would block all later events.
 */
function chatOf(room: Room): Chat {
  return {
    post: async ({ channel, message }) => String(room.show(channel, message)),
    dm: async ({ user, message }) => String(room.show(dmChannel(user), message)),
    edit: async (chatMessageId, { message }) => room.edit(Number(chatMessageId), message),
    ephemeral: async ({ channel, user, message }) => {
      // `data` is not a stable part of the contract, so a message without `about` is an ordinary private post.
      const about = message.data?.["about"];
      if (typeof about !== "string" || !room.note(channel, about, user, message)) {
        room.show(channel, message, user);
      }
    },
  };
}

/** Starts the room's bridge. */
export async function startBridge({ config, room, wire, log, tell }: BridgeOptions): Promise<Bridge> {
  const { signingSecret: secrets, push } = config;
  const outage = createOutage();
  const faults = createFaults(secrets, outage.timing);
  const report = (error: Error): void =>
    log.info({ problem: error.message }, "the bridge continues after a problem");
  const tap = await startTap(config.baseUrl, wire);
  const catchUp = createCatchUp({
    chat: chatOf(room),
    report,
    onEffect: ({ type }) => type === "missed" && tell({ type: "missed" }),
  });
  const receiver = createPushReceiver({ ...faults.pushes, handle: catchUp.handleEvent, report });
  const observe = push?.isObserved === true ? createObservation(room, secrets) : undefined;
  const listener = push && (await listenForPushes({ push, receiver, observe, wire }));
  const bridge = new Bridge(config, { tap, catchUp, receiver, listener, outage, faults, report, tell });
  await bridge.start();
  return bridge;
}

/** A command in a channel. */
interface Command {
  readonly channel: Channel;
  readonly text: string;
}

interface BridgeParts {
  readonly tap: Awaited<ReturnType<typeof startTap>>;
  readonly catchUp: ReturnType<typeof createCatchUp>;
  readonly receiver: ReturnType<typeof createPushReceiver>;
  /** The listener for pushes; undefined if this bridge cannot receive pushes. */
  readonly listener: Awaited<ReturnType<typeof listenForPushes>> | undefined;
  readonly outage: ReturnType<typeof createOutage>;
  readonly faults: ReturnType<typeof createFaults>;
  report(error: Error): void;
  tell(event: StreamEvent): void;
}

/**
 * The room's bridge. The bridge reports members' actions to the service,
 * and applies polled and pushed events to the room.
 *
 *     poll ── held events fetched, target URL set ──▶ push
 *      ▲                                               │
 *      └──────────── target URL cleared ◀──────────────┘
 *
 * A member can break the bridge, to see what the dashboard then shows. A cut network works in both modes: after the
 * repair, the bridge sends waiting reports and polls immediately. For all other breaks, the bridge first switches to
 * pushes if it can: the service notices a failed push at once, but missing polls only after minutes.
 */
export class Bridge {
  readonly #config: ChatConfig;
  readonly #parts: BridgeParts;
  readonly #over = new AbortController();
  readonly #sender: Sender;
  readonly #polling: ReturnType<typeof createPolling>;
  #state: LinkState;

  constructor(config: ChatConfig, parts: BridgeParts) {
    this.#config = config;
    this.#parts = parts;
    const { workspaceId } = config;
    const service = { baseUrl: parts.tap.baseUrl, workspaceId, ...parts.faults.reports };
    this.#sender = createSender({ ...service, attemptsMax: ATTEMPTS_MAX });
    this.#polling = createPolling({
      ...service,
      take: parts.catchUp.takePage,
      handle: parts.catchUp.handlePage,
      onProblem: (problem) => problem !== this.#state.problem && this.#change({ problem }),
    });
    this.#state = {
      mode: "poll",
      broken: null,
      isSwitching: false,
      whyFixed: whyFixed(config),
      problem: null,
    };
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Port of the listener for pushes; undefined when this bridge cannot receive pushes. */
  get pushPort(): number | undefined {
    return this.#parts.listener?.port;
  }

  /** Starts polling. */
  async start(): Promise<void> {
    // A run that was killed in push mode leaves its target URL set. Polls are answered with 403 until the URL is
    // cleared.
    if (this.#state.whyFixed === null) await this.#turnTo("poll").catch(this.#parts.report);
    this.#follow();
  }

  report(event: InboundEvent): Promise<SendResult> {
    return this.#sender.send(event, { signal: this.#over.signal });
  }

  /** Rejects with an Error whose message can be shown to members. */
  async setMode(mode: LinkMode): Promise<void> {
    const { whyFixed, mode: current } = this.#state;
    if (whyFixed !== null) throw new Error(whyFixed);
    this.#mustBeFree();
    if (mode === current) return;
    await this.#whileSwitching(() => this.#turnTo(mode));
  }

  /**
   * Breaks the bridge. Rejects with an Error whose message can be shown to members.
   *
   * @param by the member who breaks the bridge
   * @param command a command that the bridge reports first, so that a game sends an event to deliver; undefined for none
   */
  async break(how: Break, by: Member, command: Command | undefined): Promise<void> {
    const { whyFixed, mode } = this.#state;
    if (PUSH_BREAKS.includes(how) && whyFixed !== null) throw new Error(whyFixed);
    this.#mustBeFree();
    await this.#whileSwitching(async () => {
      await this.#polling.stop();
      if (how !== "cut" && mode === "poll" && whyFixed === null) await this.#turnTo("push");
      await this.#begin(how, by, command);
    });
  }

  /** Repairs the bridge, and keeps the mode. Does nothing if the bridge is not broken. */
  async repair(): Promise<void> {
    const { tap, listener, outage, faults } = this.#parts;
    if (this.#state.broken === null) return;
    faults.end();
    tap.setCut(false);
    listener?.setFault(undefined);
    outage.end();
    this.#change({ broken: null, problem: null });
    // After a refused poll, the poller would wait for 30 seconds, so it is stopped and started again.
    await this.#polling.stop();
    this.#follow();
  }

  async close(): Promise<void> {
    const { tap, catchUp, receiver, listener, report } = this.#parts;
    this.#over.abort();
    await this.#polling.stop();
    // If the workspace has no target URL, the service holds events until the bridge runs again.
    if (this.#state.mode === "push") await this.#turnTo("poll").catch(report);
    await tap.close();
    await listener?.close();
    await receiver.close();
    await catchUp.close();
  }

  #change(to: Partial<LinkState>): void {
    this.#state = { ...this.#state, ...to };
    this.#parts.tell({ type: "link", link: this.#state });
  }

  async #turnTo(mode: LinkMode): Promise<void> {
    const { push, modeSocket } = this.#config;
    if (mode === "push") {
      await this.#polling.stop();
      // The service never pushes held events, so the bridge fetches the held events before it switches to pushes.
      await this.#polling.fetchAll();
    }
    const targetUrl = push?.targetUrl ?? `https://127.0.0.1:${this.pushPort}${PUSH_PATH}`;
    await setTargetUrl(modeSocket ?? "", mode === "push" ? targetUrl : "");
    this.#change({ mode, problem: null });
  }

  #follow(): void {
    const { mode, broken } = this.#state;
    if (mode === "poll" && broken?.how !== "cut") this.#polling.start();
  }

  #mustBeFree(): void {
    if (this.#state.isSwitching) throw new Error("The bridge is already being changed; try again.");
    if (this.#state.broken !== null) throw new Error("The bridge is broken; repair it first.");
  }

  async #whileSwitching(change: () => Promise<void>): Promise<void> {
    this.#change({ isSwitching: true });
    try {
      await change();
    } finally {
      this.#change({ isSwitching: false });
      this.#follow();
    }
  }

  /**
   * Begins a break: first for pushes, then for reports and polls. In between, the bridge sends the last report. A game
   * answers this report with an event, which the broken bridge rejects.
   */
  async #begin(how: Break, by: Member, command: Command | undefined): Promise<void> {
    const { tap, listener, outage, faults } = this.#parts;
    faults.begin("pushes", how);
    listener?.setFault(how);
    if (command !== undefined) {
      const asked = this.report({ type: "command", ...command, user: by });
      // The break begins even if the service does not answer.
      await Promise.race([asked, sleep(ASKED_WITHIN_MS, undefined, { ref: false })]);
    }
    faults.begin("reports", how);
    if (how === "cut") {
      outage.begin();
      tap.setCut(true);
    }
    this.#change({ broken: { how, by: by.name }, problem: null });
    // The dashboard also shows why the service refuses requests, so the bridge sends a request that is refused.
    if (command !== undefined && REFUSED.includes(how)) {
      void this.report({ type: "message", channel: command.channel, user: by, text: "Can you read this?" });
    }
  }
}

function whyFixed({ push, modeSocket }: ChatConfig): string | null {
  if (push === undefined)
    return "Pushes need a certificate: set PUSH_TLS_CERT and PUSH_TLS_KEY (npm start makes them with openssl).";
  return modeSocket === undefined ? "This chat cannot set the target URL; use the dashboard." : null;
}
