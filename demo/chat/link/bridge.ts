import type { Logger } from "pino";
import { createCatchUp } from "../../../bridge/catch-up";
import { cursorInMemory } from "../../../bridge/cursor-store";
import type { InboundEvent } from "../../../bridge/inbound-event";
import { createPushReceiver } from "../../../bridge/receive-push";
import { createSender, type SendResult } from "../../../bridge/sender";
import type { ChatConfig } from "../config";
import type { Room } from "../room/room";
import type { LinkMode, LinkState } from "../shapes";
import { listenForPushes, PUSH_PATH } from "../wire/push-listener";
import { startTap } from "../wire/tap";
import type { WireLog } from "../wire/wire-log";
import { setTargetUrl } from "./mode-switch";
import { createObservation } from "./observation";
import { createPolling } from "./polling";
import { chatOf } from "./room-chat";

/**
 * The bridge beside the room: it reports what members do, and keeps the room as
 * the service's events say, fetched or pushed.
 *
 *     poll ── one last poll, target URL set ──▶ push
 *      ▲                                         │
 *      └───────── target URL cleared ◀───────────┘
 *
 * In both modes the network can be cut; polling begins anew, at once, when it is
 * restored.
 */
export interface Bridge {
  readonly state: LinkState;
  /** Undefined where nothing is pushed to this bridge. */
  readonly pushPort: number | undefined;
  report(event: InboundEvent): Promise<SendResult>;
  /** Rejects with an Error in words for people. */
  setMode(mode: LinkMode): Promise<void>;
  setCut(isCut: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface BridgeOptions {
  readonly config: ChatConfig;
  readonly room: Room;
  readonly wire: WireLog;
  readonly log: Logger;
  readonly onState: (state: LinkState) => void;
  /** Events expired before they were fetched. */
  readonly onMissed: () => void;
}

export async function startBridge({
  config,
  room,
  wire,
  log,
  onState,
  onMissed,
}: BridgeOptions): Promise<Bridge> {
  const { workspaceId, signingSecret: secrets, push, modeSocket } = config;
  let state: LinkState = {
    mode: "poll",
    isCut: false,
    isSwitching: false,
    whyFixed: whyFixed(config),
    problem: null,
  };
  function change(to: Partial<LinkState>): void {
    state = { ...state, ...to };
    onState(state);
  }
  const report = (error: Error): void => log.info({ problem: error.message }, "the bridge goes on");

  const over = new AbortController();
  const tap = await startTap(config.baseUrl, wire);
  const sender = createSender({ baseUrl: tap.baseUrl, workspaceId, secrets });
  const catchUp = createCatchUp({
    chat: chatOf(room),
    report,
    onEffect: ({ type }) => type === "missed" && onMissed(),
  });
  const polling = createPolling({
    baseUrl: tap.baseUrl,
    workspaceId,
    secrets,
    cursors: cursorInMemory(),
    handle: catchUp.handlePage,
    onProblem: (problem) => problem !== state.problem && change({ problem }),
  });
  const receiver = createPushReceiver({ secrets, handle: catchUp.handleEvent, report });
  const observe = push?.isObserved === true ? createObservation(room, secrets) : undefined;
  const listener = push && (await listenForPushes({ ...push, receiver, observe, wire }));
  const targetUrl = push?.targetUrl ?? `https://127.0.0.1:${listener?.port}${PUSH_PATH}`;

  async function turnTo(mode: LinkMode): Promise<void> {
    if (mode === "push") {
      await polling.stop();
      // What is held when the mode changes is never pushed: it is fetched now, or waits for polling to come back.
      await polling.fetchAll();
      await setTargetUrl(modeSocket ?? "", targetUrl);
    } else {
      await setTargetUrl(modeSocket ?? "", "");
    }
    change({ mode, problem: null });
  }

  function follow(): void {
    if (state.mode === "poll" && !state.isCut) polling.start();
  }

  // What a run that was killed in push mode left set would keep this one from polling.
  if (state.whyFixed === null) await turnTo("poll").catch(report);
  follow();
  return {
    get state() {
      return state;
    },
    pushPort: listener?.port,
    report: (event) => sender.send(event, { signal: over.signal }),
    async setMode(mode) {
      if (state.whyFixed !== null) throw new Error(state.whyFixed);
      if (state.isSwitching) throw new Error("The mode is being changed already.");
      if (state.isCut) throw new Error("The network is cut: restore it first.");
      if (mode === state.mode) return;
      change({ isSwitching: true });
      try {
        await turnTo(mode);
      } finally {
        change({ isSwitching: false });
        follow();
      }
    },
    async setCut(isCut) {
      if (isCut === state.isCut) return;
      tap.setCut(isCut);
      listener?.setCut(isCut);
      change({ isCut, problem: null });
      if (isCut) await polling.stop();
      else follow();
    },
    async close() {
      over.abort();
      await polling.stop();
      // Nobody is there to be pushed to: what comes now is held.
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
    return "Pushes need a certificate: PUSH_TLS_CERT and PUSH_TLS_KEY, which npm start makes with openssl.";
  return modeSocket === undefined ? "Nobody here may set the target URL: use the dashboard." : null;
}
