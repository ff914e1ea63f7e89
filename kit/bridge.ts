import { once, setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createAcceptedPushes } from "./accepted-pushes";
import { savingChat } from "./bridge-chat";
import { checkOptions, type BridgeOptions } from "./bridge-options";
import { createReports, type BridgeReports } from "./bridge-reports";
import { createCatchUp, type CatchUp } from "./catch-up";
import { listenForPushes } from "./listen";
import { PollRefused } from "./poll";
import { pollForever } from "./poll-forever";
import { errorOf, warn } from "./problem";
import { createReceiver } from "./receiver";
import { refusal } from "./receive-push";
import { remember } from "./reduce-memory";
import { initialState, isSettled, type BridgeState } from "./reduce-state";
import { createReportedIds } from "./reported-ids";
import { createSender } from "./sender";
import { createShownMessages, type ShownMessage } from "./shown-messages";

export interface BridgeStatus {
  /** Whether the last poll succeeded; in push mode, whether the bridge accepts pushes. */
  readonly isConnected: boolean;
  /** Time of the last successful poll, or of the last accepted push. */
  readonly lastContactAt: Date | undefined;
  /**
   * Message of the last problem. A successful poll in poll mode, and an accepted push, reset `problem` to undefined. In
   * poll mode, `problem` stays until the chat has accepted the page before, and its cursor is saved.
   */
  readonly problem: string | undefined;
}

export interface Bridge extends BridgeReports {
  /**
   * Starts the bridge. Call `start` only once. In poll mode, resolves at the first successful poll, and rejects if the
   * service refuses the poll (`PollRefused`). While the service is unreachable, the bridge repeats the poll. In push
   * mode, resolves once the bridge listens. In both modes, rejects if the store cannot be read. Rejects if the port is
   * in use. A call of `stop` also resolves `start`.
   */
  start(): Promise<void>;
  /**
   * Stops polling, and rejects further pushes with `503`. Resolves when pending calls to the chat and pending reports
   * are done, but after at most 10 seconds. A later run continues where this run stopped.
   */
  stop(): Promise<void>;
  /** The message that the chat shows under this id; undefined if the message is not from the service, or too old. */
  shown(chatMessageId: string): ShownMessage | undefined;
  /** The messages of a channel, or of `dmChannel(userId)`, the most recently posted or updated first. */
  shownIn(channel: string): readonly ShownMessage[];
  /** Receives pushes, for your own HTTP server (see `Receiver.handler`). */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** The same as `stop`, for `fastifyReceiver(bridge, "/events")`. */
  close(): Promise<void>;
  readonly status: BridgeStatus;
}

const EVENTS_ARE_HELD =
  "events are held, and not pushed: set the workspace's target URL in the dashboard; until then, the bridge polls";
/** Time limit for `stop`, ms. */
const STOP_WITHIN_MS = 10_000;
const SETTLE_LOOK_MS = 20;

/**
 * Makes a bridge between a chat and one workspace. Implements all rules of the contract for bridges: signatures,
 * cursors, retries, duplicates, order, expiry, updates before their creates, and secret rotation.
 *
 * @throws TypeError or RangeError when an option is missing or invalid
 */
export function createBridge(options: BridgeOptions): Bridge {
  checkOptions(options);
  const { chat, store, mode = "poll", listen, onMissed, report = warn, secrets, onlyReported } = options;
  const { messages } = store;
  const shown = createShownMessages();
  const over = new AbortController();
  // Each pending report listens. The sender bounds their number.
  setMaxListeners(0, over.signal);
  const polls = new AbortController();
  const reported =
    onlyReported === undefined || store.reported === undefined
      ? undefined
      : createReportedIds({ store: store.reported, isForChannels: onlyReported === "all", report });
  const { reports, idle } = createReports({
    sender: createSender(options),
    shown,
    reported,
    signal: over.signal,
    report,
  });

  let status: BridgeStatus = { isConnected: false, lastContactAt: undefined, problem: undefined };
  const reached = (isSolved = true): void => {
    const problem = isSolved ? undefined : status.problem;
    status = { isConnected: true, lastContactAt: new Date(), problem };
  };
  const noteProblem = (problem: Error, isConnected = status.isConnected): void => {
    status = { ...status, isConnected, problem: problem.message };
    report(problem);
  };

  const accepted = createAcceptedPushes({ store: store.pushes, report: noteProblem });
  let catchUp: CatchUp | undefined;
  /** Resolves when `catchUp` has the events that an earlier run accepted. */
  let resumed: Promise<void> | undefined;
  const running: Promise<void>[] = [];
  const closing: (() => Promise<void>)[] = [];
  const receiver = createReceiver({
    secrets,
    report: noteProblem,
    store: {
      add: accepted.add,
      remove: (eventId) => catchUp && accepted.passOn(eventId, catchUp.state),
    },
    async handle(event) {
      reached();
      await resumed;
      await catchUp?.handleEvent(event);
    },
  });

  async function open(): Promise<CatchUp> {
    const saved = await messages.load().catch((error: unknown) => {
      throw errorOf("cannot load the messages from the store", error);
    });
    await accepted.load().catch((error: unknown) => {
      throw errorOf("cannot load the pushes from the store", error);
    });
    for (const each of saved) shown.put(each);
    // A cursor that cannot be read is also a sign of an earlier run. The poller reports the error.
    const hasCursor = () =>
      store.cursors.load().then(
        (cursor) => cursor !== undefined,
        () => true,
      );
    await reported?.load(saved, saved.length > 0 || (await hasCursor())).catch((error: unknown) => {
      throw errorOf("cannot load the reported ids from the store", error);
    });
    return createCatchUp({
      chat: savingChat({ chat, shown, messages, reported, report: noteProblem }),
      state: stateFrom(saved),
      report: noteProblem,
      ...(options.chatTimeoutMs === undefined ? {} : { chatTimeoutMs: options.chatTimeoutMs }),
      onEffect: ({ type }) => type === "missed" && void tellMissed(),
      onState: accepted.removeDone,
    });
  }

  async function tellMissed(): Promise<void> {
    try {
      await onMissed?.();
    } catch (error) {
      noteProblem(errorOf("onMissed failed", error));
    }
  }

  async function startListening(): Promise<void> {
    if (listen !== undefined) closing.push(await listenForPushes(listen, receiver.handler, over.signal));
  }

  function startPush(opened: CatchUp): void {
    status = { ...status, isConnected: true };
    let isHeld = false;
    // The service holds events while the workspace has no target URL, and never pushes these events later.
    const run = pollForever({
      ...pollsOf(opened),
      isPatient: true,
      onPage() {
        if (!isHeld) noteProblem(new Error(EVENTS_ARE_HELD));
        isHeld = true;
        status = { ...status, lastContactAt: new Date() };
      },
      onProblem(problem) {
        if (problem instanceof PollRefused && problem.status === 403) isHeld = false;
        else noteProblem(problem);
      },
    });
    running.push(run);
  }

  const pollsOf = ({ handlePage }: CatchUp) => ({
    ...options,
    cursors: store.cursors,
    signal: polls.signal,
    handle: handlePage,
  });

  async function startPolls(opened: CatchUp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const run = pollForever({
        ...pollsOf(opened),
        onPage(isSolved) {
          reached(isSolved);
          resolve();
        },
        onProblem: noteProblem,
      });
      run.then(resolve, reject);
      running.push(run.catch(() => undefined));
    });
  }

  /**
   * Waits until the events of all answered pushes are shown or dropped. The service does not resend these pushes, and a
   * store can be without `pushes`.
   */
  async function finishPushes(): Promise<void> {
    await Promise.allSettled([...closing.map((close) => close()), receiver.close()]);
    const opened = mode === "push" ? catchUp : undefined;
    if (opened === undefined) return;
    while (!isSettled(opened.state) && !over.signal.aborted) await sleep(SETTLE_LOOK_MS);
  }

  async function startOnce(): Promise<void> {
    const opened = await open();
    catchUp = opened;
    const listening = startListening();
    // If the port is in use, another process may be handling the stored events.
    resumed = listening.then(
      () => accepted.resume(opened),
      () => undefined,
    );
    await listening;
    if (mode === "push") startPush(opened);
    else await startPolls(opened);
  }

  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    polls.abort();
    const isOver = once(over.signal, "abort");
    const limit = setTimeout(() => over.abort(), STOP_WITHIN_MS / 2);
    await starting?.catch(() => undefined);
    await Promise.race([finishPushes(), isOver]);
    await Promise.allSettled([catchUp?.close(), ...running, idle()]);
    await accepted.idle();
    clearTimeout(limit);
    over.abort();
  }
  const stopOnce = () => (stopping ??= within(STOP_WITHIN_MS, stop()));

  return {
    ...reports,
    async start() {
      if (starting !== undefined || stopping !== undefined)
        throw new Error("a bridge can be started only once");
      await (starting = startOnce());
    },
    stop: stopOnce,
    close: stopOnce,
    shown: (chatMessageId) => shown.byChatMessageId(chatMessageId),
    shownIn: (channel) => shown.inChannel(channel),
    handler(request, response) {
      if (catchUp !== undefined) return receiver.handler(request, response);
      const { status: code, headers, body } = refusal(503, "the bridge has not started");
      response.writeHead(code, headers).end(body);
    },
    get status() {
      return { ...status, isConnected: status.isConnected && stopping === undefined };
    },
  };
}

/** Returns the state after the saved messages were posted and updated. */
function stateFrom(saved: readonly ShownMessage[]): BridgeState {
  const state = initialState();
  let { settled, messages } = state;
  for (const { messageId, eventId, sequence } of saved) {
    settled = remember(settled, eventId, true);
    messages = remember(messages, messageId, { chatMessageId: messageId, applied: sequence });
  }
  return { ...state, settled, messages };
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
