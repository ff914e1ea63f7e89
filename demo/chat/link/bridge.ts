import type { Logger } from "pino";
import { createCatchUp, type Chat } from "../../../kit/catch-up";
import { dmChannel, type InboundEvent } from "../../../kit/inbound-event";
import { createPushReceiver } from "../../../kit/receive-push";
import { createSender, type SendResult } from "../../../kit/sender";
import type { ChatConfig } from "../config";
import type { Room } from "../room/room";
import type { LinkMode, LinkState, StreamEvent } from "../shapes";
import { listenForPushes, PUSH_PATH } from "../wire/push-listener";
import { startTap } from "../wire/tap";
import type { WireLog } from "../wire/wire-log";
import { setTargetUrl } from "./mode-switch";
import { createObservation } from "./observation";
import { createOutage } from "./outage";
import { createPolling } from "./polling";

export type Bridge = Awaited<ReturnType<typeof startBridge>>;

export interface BridgeOptions {
  readonly config: ChatConfig;
  readonly room: Room;
  readonly wire: WireLog;
  readonly log: Logger;
  /** Called with each new state of the bridge, and when events expired before the bridge fetched them. */
  readonly tell: (event: StreamEvent) => void;
}

/**
 * Maximum number of attempts to send a report. The sender's limit of a minute comes first, so that members can cut the
 * network for that long.
 */
const ATTEMPTS_MAX = 20;

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

/**
 * Starts the room's bridge. The bridge reports members' actions to the service,
 * and applies polled and pushed events to the room.
 *
 *     poll ── held events fetched, target URL set ──▶ push
 *      ▲                                               │
 *      └──────────── target URL cleared ◀──────────────┘
 *
 * The network can be cut in both modes. When the network is restored, the bridge sends
 * waiting reports immediately; in poll mode, the bridge also polls immediately.
 */
export async function startBridge({ config, room, wire, log, tell }: BridgeOptions) {
  const { workspaceId, signingSecret: secrets, push, modeSocket } = config;
  const tap = await startTap(config.baseUrl, wire);
  const { baseUrl } = tap;
  const report = (error: Error): void =>
    log.info({ problem: error.message }, "the bridge continues after a problem");

  const over = new AbortController();
  const outage = createOutage();
  const sender = createSender({
    baseUrl,
    workspaceId,
    secrets,
    attemptsMax: ATTEMPTS_MAX,
    timing: outage.timing,
  });
  const catchUp = createCatchUp({
    chat: chatOf(room),
    report,
    onEffect: ({ type }) => type === "missed" && tell({ type: "missed" }),
  });
  const polling = createPolling({
    baseUrl,
    workspaceId,
    secrets,
    handle: catchUp.handlePage,
    onProblem: (problem) => problem !== state.problem && change({ problem }),
  });
  const receiver = createPushReceiver({ secrets, handle: catchUp.handleEvent, report });
  const observe = push?.isObserved === true ? createObservation(room, secrets) : undefined;
  const listener = push && (await listenForPushes({ push, receiver, observe, wire }));
  const targetUrl = push?.targetUrl ?? `https://127.0.0.1:${listener?.port}${PUSH_PATH}`;

  let state: LinkState = {
    mode: "poll",
    isCut: false,
    isSwitching: false,
    whyFixed: whyFixed(config),
    problem: null,
  };
  function change(to: Partial<LinkState>): void {
    state = { ...state, ...to };
    tell({ type: "link", link: state });
  }

  async function turnTo(mode: LinkMode): Promise<void> {
    if (mode === "push") {
      await polling.stop();
      // The service never pushes held events, so the bridge fetches the held events before it switches to pushes.
      await polling.fetchAll();
    }
    await setTargetUrl(modeSocket ?? "", mode === "push" ? targetUrl : "");
    change({ mode, problem: null });
  }

  function follow(): void {
    if (state.mode === "poll" && !state.isCut) polling.start();
  }

  // A run that was killed in push mode leaves its target URL set. Polls are answered with 403 until the URL is cleared.
  if (state.whyFixed === null) await turnTo("poll").catch(report);
  follow();
  return {
    get state() {
      return state;
    },
    /** Port of the listener for pushes; undefined when this bridge cannot receive pushes. */
    pushPort: listener?.port,
    report: (event: InboundEvent): Promise<SendResult> => sender.send(event, { signal: over.signal }),

    /** Rejects with an Error whose message can be shown to members. */
    async setMode(mode: LinkMode): Promise<void> {
      if (state.whyFixed !== null) throw new Error(state.whyFixed);
      if (state.isSwitching) throw new Error("The mode is already being changed.");
      if (state.isCut) throw new Error("The network is cut; restore it first.");
      if (mode === state.mode) return;
      change({ isSwitching: true });
      try {
        await turnTo(mode);
      } finally {
        change({ isSwitching: false });
        follow();
      }
    },

    async setCut(isCut: boolean): Promise<void> {
      if (isCut === state.isCut) return;
      if (isCut) outage.begin();
      tap.setCut(isCut);
      listener?.setCut(isCut);
      if (!isCut) outage.end();
      change({ isCut, problem: null });
      if (isCut) await polling.stop();
      else follow();
    },

    async close(): Promise<void> {
      over.abort();
      await polling.stop();
      // Without a target URL, the service holds events until the next run.
      if (state.mode === "push") await turnTo("poll").catch(report);
      await tap.close();
      await listener?.close();
      await receiver.close();
      await catchUp.close();
    },
  };
}

function whyFixed({ push, modeSocket }: ChatConfig): string | null {
  if (push === undefined)
    return "Pushes need a certificate: set PUSH_TLS_CERT and PUSH_TLS_KEY (npm start makes them with openssl).";
  return modeSocket === undefined ? "This chat cannot set the target URL; use the dashboard." : null;
}
