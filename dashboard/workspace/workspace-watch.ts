import type {
  DeliveryShape,
  HealthShape,
  Mode,
  RequestsShape,
  WorkspaceShape,
} from "../../proto/json/shapes";
import { api, ApiError, onUnanswered, type AskedBy } from "../api";
import { mergeDeliveries } from "../words/delivery-list";

/**
 * `live` if the page shows the current state; `connecting` if the page is still connecting; `core-away` if core does
 * not answer; `server-away` if the dashboard's server does not answer.
 */
export type Liveness = "connecting" | "live" | "core-away" | "server-away";

export interface ShownWorkspace {
  readonly workspace: WorkspaceShape | undefined;
  readonly health: HealthShape;
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  /** The bridge's requests of the last hour; undefined until the stream reports them. */
  readonly requests: RequestsShape | undefined;
  readonly liveness: Liveness;
  /**
   * Time at which the page was last live; undefined while the page is live, and if it has never been live.
   */
  readonly updatedAt: string | undefined;
  /** The error of the last read. Undefined if the last read got no answer while the page already showed a state. */
  readonly error: ApiError | undefined;
  /** Whether the workspace does not exist, e.g. because it was deleted. */
  readonly gone: boolean;
}

export const NOTHING_SHOWN: ShownWorkspace = {
  workspace: undefined,
  health: null,
  deliveries: undefined,
  requests: undefined,
  liveness: "connecting",
  updatedAt: undefined,
  error: undefined,
  gone: false,
};

const NOT_FOUND = 404;
/** Milliseconds for which deliveries are gathered before they are shown together. */
const GATHER_MS = 150;
/** Milliseconds after which a silent stream is considered broken. The server sends a heartbeat every 2 seconds. */
const SILENT_AFTER_MS = 5_000;
/**
 * Milliseconds for which a hidden page keeps its stream. A page that becomes visible within this time has missed
 * nothing.
 */
const KEPT_WHILE_HIDDEN_MS = 60_000;

type Timer = ReturnType<typeof setTimeout> | undefined;
type Change = Partial<ShownWorkspace> | ((before: ShownWorkspace) => ShownWorkspace);

/**
 * The state of the page, compared with core:
 *
 *     behind ── the stream reports something ──▶ reading ── everything is read ──▶ current
 *       ▲                                          │                                │
 *       └── the stream fails or is silent, core is away, the read fails ────────────┘
 */
type Sync = "behind" | "current" | { readonly is: "reading" };

/**
 * Reads a workspace, and follows its changes through a stream while the page is visible.
 *
 * When the stream first delivers `available`, `health` or `delivery`, the page reads the workspace and its log, so it
 * misses no change. After these reads, the state is live. If the page has read the workspace before the stream opened,
 * it does not read the workspace again: the stream delivers the current health. The state is no longer live when the
 * stream fails, delivers `unavailable` or is silent for too long, or when a request gets no answer. Before the stream
 * opens, the page reads only the workspace and its health, because they are small. The log is not read again while the
 * state is live.
 *
 * The browser reconnects 2 seconds after a stream has failed. A stream that is silent for 5 seconds is closed, and opened
 * again.
 */
export class WorkspaceWatch {
  readonly #id: string;
  readonly #show: (change: Change) => void;
  readonly #closed = new AbortController();
  #stream: EventSource | undefined;
  #sync: Sync = "behind";
  /** Whether a read of the log has started, even if the read failed later. */
  #isLogAsked = false;
  #mode: Mode | undefined;
  /** The read that began before the stream opened; undefined once the stream has delivered something. */
  #early: Promise<boolean> | undefined;
  /** The last health that the stream has delivered. */
  #streamed: { readonly health: HealthShape } | undefined;
  #gathered: DeliveryShape[] = [];
  #untilShown: Timer;
  #untilLeft: Timer;
  #untilSilent: Timer;

  /** @param show called with each change of what the page shows */
  constructor(id: string, show: (change: Change) => void) {
    this.#id = id;
    this.#show = show;
  }

  /** Starts reading and following the workspace. Returns a function that stops both. */
  start(): () => void {
    this.#early = this.#read("person", false);
    this.#look();
    const look = (): void => this.#look();
    document.addEventListener("visibilitychange", look);
    const stopHearing = onUnanswered((status) => this.#lose(status === 0 ? "server-away" : "core-away"));
    return () => {
      document.removeEventListener("visibilitychange", look);
      stopHearing();
      this.#closed.abort();
      clearTimeout(this.#untilShown);
      clearTimeout(this.#untilLeft);
      this.#close();
    };
  }

  /** Reads everything that the stream does not report. */
  reread(): void {
    void this.#read("person");
  }

  /**
   * Reads the workspace with its health unless `workspace` is false, and its log unless `log` is false. Resolves to whether
   * the read succeeded. By default, the log is read unless the stream reports each delivery.
   */
  async #read(by: AskedBy, log = this.#sync === "behind", workspace = true): Promise<boolean> {
    const { signal } = this.#closed;
    this.#isLogAsked ||= log;
    try {
      const [view, deliveries] = await Promise.all([
        workspace ? api.view(this.#id, signal, by) : undefined,
        log ? api.deliveries(this.#id, signal, by) : undefined,
      ]);
      if (view !== undefined) {
        this.#mode = view.workspace.mode;
        this.#show({ ...view, error: undefined, gone: false });
      }
      if (deliveries !== undefined) this.#showDeliveries(deliveries);
      return true;
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      if (error.status === NOT_FOUND) this.#show({ gone: true });
      // If the page already shows a state, `liveness` says that there is no answer, so no error is set.
      else this.#show((before) => (error.isUnanswered && before.workspace ? before : { ...before, error }));
      return false;
    }
  }

  #showDeliveries(fresh: readonly DeliveryShape[]): void {
    this.#show((before) => ({ ...before, deliveries: mergeDeliveries(fresh, before.deliveries ?? []) }));
  }

  /** Marks the shown state as possibly outdated. */
  #lose(liveness: Exclude<Liveness, "live">): void {
    const updatedAt = this.#sync === "current" ? { updatedAt: new Date().toISOString() } : {};
    this.#sync = "behind";
    this.#show({ liveness, ...updatedAt });
    // The stream has failed, so it will not report when to read the log. The page therefore reads the log now.
    if (liveness !== "connecting" && !this.#isLogAsked) void this.#read("itself");
  }

  /** Restarts the timeout of the stream. A silent stream is replaced, because its connection may be broken. */
  #awaitReport(): void {
    clearTimeout(this.#untilSilent);
    this.#untilSilent = setTimeout(() => {
      this.#lose("server-away");
      this.#close();
      if (!document.hidden) this.#open();
    }, SILENT_AFTER_MS);
  }

  async #catchUp(): Promise<void> {
    this.#awaitReport();
    if (this.#sync !== "behind") return;
    const own: Sync = { is: "reading" };
    this.#sync = own;
    const early = this.#early;
    this.#early = undefined;
    const reads = await Promise.all([this.#read("itself", true, early === undefined), early ?? true]);
    const isRead = reads.every(Boolean);
    if (early !== undefined) this.#showStreamed();
    // The stream may have failed during the read.
    if (this.#sync !== own) return;
    this.#sync = isRead ? "current" : "behind";
    if (isRead) this.#show({ liveness: "live", updatedAt: undefined });
  }

  /** Shows the last health of the stream, which may be newer than the health that was read. */
  #showStreamed(): void {
    if (this.#streamed === undefined) return;
    const { health } = this.#streamed;
    this.#show({ health });
    // The mode was switched elsewhere. The mode is a part of the workspace, so the workspace is read again.
    if (this.#mode !== undefined && (health?.mode ?? "none") !== this.#mode) void this.#read("itself");
  }

  #open(): void {
    const stream = new EventSource(api.watchUrl(this.#id));
    this.#stream = stream;
    this.#awaitReport();
    stream.addEventListener("error", () => {
      this.#lose("server-away");
      // The browser closes a stream that the server rejects. The stream does not give the reason, e.g. that the session
      // has ended, so the page sends a normal request.
      if (this.#stream?.readyState === EventSource.CLOSED) void this.#read("itself", false);
    });
    stream.addEventListener("unavailable", () => {
      this.#awaitReport();
      this.#lose("core-away");
    });
    stream.addEventListener("available", () => void this.#catchUp());
    stream.addEventListener("health", ({ data }: MessageEvent<string>) => {
      this.#streamed = { health: JSON.parse(data) as HealthShape };
      this.#showStreamed();
      void this.#catchUp();
    });
    stream.addEventListener("requests", ({ data }: MessageEvent<string>) => {
      this.#awaitReport();
      this.#show({ requests: JSON.parse(data) as RequestsShape });
    });
    stream.addEventListener("delivery", ({ data }: MessageEvent<string>) => {
      void this.#catchUp();
      this.#gathered.push(JSON.parse(data) as DeliveryShape);
      this.#untilShown ??= setTimeout(() => {
        this.#showDeliveries(this.#gathered);
        [this.#gathered, this.#untilShown] = [[], undefined];
      }, GATHER_MS);
    });
    stream.addEventListener("gone", () => {
      this.#close();
      this.#show({ gone: true });
    });
  }

  #close(): void {
    clearTimeout(this.#untilSilent);
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** Opens the stream of a visible page. Closes the stream of a page that stays hidden. */
  #look(): void {
    clearTimeout(this.#untilLeft);
    if (document.hidden) {
      this.#untilLeft = setTimeout(() => {
        this.#close();
        this.#lose("connecting");
      }, KEPT_WHILE_HIDDEN_MS);
    } else if (this.#stream === undefined || this.#stream.readyState === EventSource.CLOSED) {
      this.#close();
      this.#open();
    }
  }
}
