import { once, setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AcceptedPushes } from "./accepted-pushes";
import { savingChat } from "./bridge-chat";
import type { BridgeOptions } from "./bridge-options";
import { createReports, type BridgeReports } from "./bridge-reports";
import { StatusKeeper, type BridgeStatus } from "./bridge-status";
import { createCatchUp, type CatchUp } from "./catch-up";
import { FolderInUse } from "./folder-lock";
import { listenForPushes } from "./listen";
import { PollRefused } from "./poll";
import { PendingCalls } from "./pending-calls";
import { pollForever, type PollForeverOptions } from "./poll-forever";
import { errorOf, warn } from "./problem";
import { createReceiver, type Receiver } from "./receiver";
import { refusal } from "./receive-push";
import { remember } from "./reduce-memory";
import { initialState, isSettled, type BridgeState } from "./reduce-state";
import { createReportedIds, type ReportedIds } from "./reported-ids";
import { createSender } from "./sender";
import { createShownMessages, type ShownMessage } from "./shown-messages";

const EVENTS_ARE_HELD =
  "events are held, and not pushed: set the workspace's target URL in the dashboard; until then, the bridge polls";
/** Time limit for `stop`, ms. */
const STOP_WITHIN_MS = 10_000;
const SETTLE_LOOK_MS = 20;

type State =
  | { readonly is: "new" }
  /** `started` settles as `start` does. */
  | { readonly is: "started"; readonly started: Promise<void> }
  | { readonly is: "stopping"; readonly stopped: Promise<void> };

/** The states that can follow each state. */
const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  new: ["started", "stopping"],
  started: ["stopping"],
  stopping: [],
};

/**
 * The only run of a bridge:
 *
 *     new ──start──▶ started ──stop──▶ stopping
 *      └─────────────stop─────────────────▲
 */
export class BridgeRun {
  readonly shown = createShownMessages();
  readonly reports: BridgeReports;
  readonly #options: BridgeOptions;
  readonly #status: StatusKeeper;
  readonly #reported: ReportedIds | undefined;
  readonly #calls = new PendingCalls();
  readonly #reportsIdle: () => Promise<void>;
  readonly #accepted: AcceptedPushes;
  readonly #receiver: Receiver;
  /** Aborts all pending work when the time limit of `stop` has passed. */
  readonly #over = new AbortController();
  readonly #polls = new AbortController();
  #state: State = { is: "new" };
  /** Undefined until the store is loaded. `resumed` resolves when the events that an earlier run accepted are being passed on. */
  #opened: { readonly catchUp: CatchUp; readonly resumed: Promise<void> } | undefined;
  #closeServer: (() => Promise<void>) | undefined;
  #polling: Promise<void> | undefined;
  /** The lock of the store, from the start until the bridge has stopped or has failed to start. */
  #lock: { release(): void } | undefined;

  constructor(options: BridgeOptions) {
    const { store, secrets, onlyReported, report = warn, onReconnected } = options;
    this.#options = options;
    this.#status = new StatusKeeper(report, onReconnected);
    // Each pending report listens to this signal. The sender bounds the number of reports.
    setMaxListeners(0, this.#over.signal);
    this.#reported =
      onlyReported === undefined || store.reported === undefined
        ? undefined
        : createReportedIds({ store: store.reported, isForChannels: onlyReported === "all", report });
    const { reports, idle } = createReports({
      sender: createSender(options),
      shown: this.shown,
      calls: this.#calls,
      reported: this.#reported,
      signal: this.#over.signal,
      report,
    });
    this.reports = reports;
    this.#reportsIdle = idle;
    this.#accepted = new AcceptedPushes(store.pushes, this.#status.noteProblem);
    this.#receiver = createReceiver({
      secrets,
      report: this.#status.noteProblem,
      store: {
        add: (event) => this.#accepted.add(event),
        remove: (eventId) => this.#opened && this.#accepted.passOn(eventId, this.#opened.catchUp.state),
      },
      handle: async (event) => {
        this.#status.reached();
        await this.#opened?.resumed;
        await this.#accepted.resumed(event);
        await this.#opened?.catchUp.handleEvent(event);
      },
    });
  }

  get status(): BridgeStatus {
    const { status } = this.#status;
    const waiting = this.#opened?.catchUp.waiting ?? [];
    return { ...status, waiting, isConnected: status.isConnected && this.#state.is !== "stopping" };
  }

  async start(): Promise<void> {
    if (this.#state.is !== "new") throw new Error("a bridge can be started only once");
    const started = this.#start();
    this.#enter({ is: "started", started });
    try {
      await started;
    } catch (error) {
      // Another process may use the store as soon as the lock is released, so the server and `catchUp` are closed
      // first.
      const closed = Promise.allSettled([this.#closeServer?.(), this.#opened?.catchUp.close()]);
      await within(
        STOP_WITHIN_MS,
        closed.then(() => this.#lock?.release()),
      );
      throw error;
    }
  }

  stop(): Promise<void> {
    if (this.#state.is === "stopping") return this.#state.stopped;
    const started = this.#state.is === "started" ? this.#state.started : undefined;
    // A call to the chat that outlasts the limit can still save a message, so the lock is kept until the call has
    // finished.
    const finished = this.#stop(started).finally(() => this.#lock?.release());
    const stopped = within(STOP_WITHIN_MS, finished);
    this.#enter({ is: "stopping", stopped });
    return stopped;
  }

  /** Answers a push. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    if (this.#opened !== undefined) return this.#receiver.handler(request, response);
    const { status, headers, body } = refusal(503, "the bridge has not started");
    response.writeHead(status, headers).end(body);
  }

  #enter(next: State): void {
    const { is } = this.#state;
    if (!NEXT[is].includes(next.is)) throw new Error(`a bridge cannot go from ${is} to ${next.is}`);
    this.#state = next;
  }

  async #start(): Promise<void> {
    const catchUp = await this.#open();
    const listening = this.#listen();
    // If the port is in use, another process may already be handling the stored events, so they are not resumed here.
    const resumed = listening.then(
      () => void this.#accepted.resume(catchUp),
      () => undefined,
    );
    this.#opened = { catchUp, resumed };
    await listening;
    if (this.#options.mode === "push") this.#pollBesidePushes(catchUp);
    else await this.#poll(catchUp);
  }

  async #open(): Promise<CatchUp> {
    const { chat, store, chatTimeoutMs } = this.#options;
    const [shown, reported, calls] = [this.shown, this.#reported, this.#calls];
    const report = this.#status.noteProblem;
    // A store repairs its files when it loads them, so no other process may use these files.
    this.#lock = await locked(store);
    const saved = await loaded("messages", store.messages.load());
    await loaded("pushes", this.#accepted.load());
    for (const each of saved) shown.put(each);
    // An error while reading the cursor also means that an earlier run saved a cursor. The poller reports the error.
    const hasCursor = () =>
      store.cursors.load().then(
        (cursor) => cursor !== undefined,
        () => true,
      );
    if (reported !== undefined) {
      const hasRun = saved.length > 0 || (await hasCursor());
      await loaded("reported ids", reported.load(saved, hasRun));
    }
    return createCatchUp({
      chat: savingChat({ chat, shown, calls, messages: store.messages, reported, report }),
      state: stateFrom(saved),
      report,
      ...(chatTimeoutMs === undefined ? {} : { chatTimeoutMs }),
      onEffect: ({ type }) => type === "missed" && void this.#tellMissed(),
      onState: (state) => this.#accepted.removeDone(state),
    });
  }

  async #tellMissed(): Promise<void> {
    try {
      await this.#options.onMissed?.();
    } catch (error) {
      this.#status.noteProblem(errorOf("onMissed failed", error));
    }
  }

  async #listen(): Promise<void> {
    const { listen } = this.#options;
    if (listen === undefined) return;
    this.#closeServer = await listenForPushes(listen, this.#receiver.handler, this.#over.signal);
  }

  /**
   * Polls in push mode. These polls fetch the events that the service held while the workspace had no target URL,
   * because held events are never pushed.
   */
  #pollBesidePushes(catchUp: CatchUp): void {
    this.#status.note({ isConnected: true });
    this.#status.answered();
    let isHeld = false;
    this.#polling = this.#pollForever(catchUp, {
      isPatient: true,
      onPage: () => {
        if (!isHeld) this.#status.noteProblem(new Error(EVENTS_ARE_HELD));
        isHeld = true;
        this.#status.note({ lastContactAt: new Date() });
        this.#status.answered();
      },
      onProblem: (problem, isAnswered) => {
        // The service refuses polls with 403 while it pushes.
        if (problem instanceof PollRefused && problem.status === 403) {
          isHeld = false;
          this.#status.answered();
          return;
        }
        if (!isAnswered) this.#status.unanswered();
        this.#status.noteProblem(problem);
      },
    });
  }

  /** Starts to poll. Resolves at the first successful poll. */
  async #poll(catchUp: CatchUp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const polling = this.#pollForever(catchUp, {
        onPage: (isSolved) => {
          this.#status.reached(isSolved);
          this.#status.answered();
          resolve();
        },
        onProblem: (problem, isAnswered) => {
          if (!isAnswered) this.#status.unanswered();
          this.#status.noteProblem(problem, isAnswered);
        },
      });
      polling.then(resolve, reject);
      this.#polling = polling.catch(() => undefined);
    });
  }

  #pollForever(
    { takePage }: CatchUp,
    how: Pick<PollForeverOptions, "isPatient" | "onPage" | "onProblem">,
  ): Promise<void> {
    const { cursors } = this.#options.store;
    return pollForever({ ...this.#options, cursors, signal: this.#polls.signal, handle: takePage, ...how });
  }

  async #stop(started: Promise<void> | undefined): Promise<void> {
    this.#polls.abort();
    const isOver = once(this.#over.signal, "abort");
    const limit = setTimeout(() => this.#over.abort(), STOP_WITHIN_MS / 2);
    await started?.catch(() => undefined);
    await Promise.race([this.#finishPushes(), isOver]);
    await Promise.allSettled([this.#opened?.catchUp.close(), this.#polling, this.#reportsIdle()]);
    await this.#accepted.idle();
    clearTimeout(limit);
    this.#over.abort();
  }

  /**
   * Waits until the events of all answered pushes are shown or dropped, because the service does not resend these
   * events, and a store without `pushes` does not keep them.
   */
  async #finishPushes(): Promise<void> {
    await Promise.allSettled([this.#closeServer?.(), this.#receiver.close()]);
    if (this.#options.mode !== "push" || this.#opened === undefined) return;
    const { catchUp } = this.#opened;
    while (!isSettled(catchUp.state) && !this.#over.signal.aborted) await sleep(SETTLE_LOOK_MS);
  }
}

async function locked({ lock }: BridgeOptions["store"]): Promise<{ release(): void } | undefined> {
  try {
    return await lock?.();
  } catch (error) {
    if (error instanceof FolderInUse) throw error;
    // The bridge loads its messages only after it has acquired the lock.
    throw errorOf("cannot load the messages from the store", error);
  }
}

/** Resolves to the value of `loading`. If `loading` rejects, rejects with an error that names `what`. */
async function loaded<Value>(what: string, loading: Promise<Value>): Promise<Value> {
  try {
    return await loading;
  } catch (error) {
    throw errorOf(`cannot load the ${what} from the store`, error);
  }
}

/** Returns the state of a bridge that has already posted and updated the saved messages. */
function stateFrom(saved: readonly ShownMessage[]): BridgeState {
  const state = initialState();
  let { settled, messages } = state;
  for (const { messageId, eventId, sequence } of saved) {
    settled = remember(settled, eventId, true);
    messages = remember(messages, messageId, { chatMessageId: messageId, applied: sequence });
  }
  return { ...state, settled, messages };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
