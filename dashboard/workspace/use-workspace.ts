import { useEffect, useRef, useState } from "preact/hooks";
import type { DeliveryShape, HealthShape, Mode, WorkspaceShape } from "../../proto/json/shapes";
import { api, ApiError, onUnanswered, type AskedBy } from "../api";
import { mergeDeliveries } from "../words/delivery-list";

/**
 * Whether the page shows the current state. If not, core does not answer (`core-away`), or the dashboard's server does
 * not answer (`server-away`).
 */
export type Liveness = "connecting" | "live" | "core-away" | "server-away";

export interface WatchedWorkspace {
  readonly workspace: WorkspaceShape | undefined;
  readonly health: HealthShape;
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly liveness: Liveness;
  /** Time at which the page was last live; undefined while the page is live, and before it is live first. */
  readonly updatedAt: string | undefined;
  /** The error of the last read, unless the read got no answer after an earlier read was answered. */
  readonly error: ApiError | undefined;
  /** Whether the workspace does not exist, e.g. because it was deleted. */
  readonly gone: boolean;
  /** Sets the workspace after a change, and reads everything again. */
  changed(workspace: WorkspaceShape): void;
}

const NOT_FOUND = 404;
/** Milliseconds for which deliveries are gathered before they are shown together. */
const GATHER_MS = 150;
const FIRST: Omit<WatchedWorkspace, "changed"> = {
  workspace: undefined,
  health: null,
  deliveries: undefined,
  liveness: "connecting",
  updatedAt: undefined,
  error: undefined,
  gone: false,
};

/** Milliseconds after which a silent stream is considered broken. The server sends a heartbeat every 2 seconds. */
const SILENT_AFTER_MS = 5_000;
/** Milliseconds for which a hidden page keeps its stream. A page that is visible again by then has missed nothing. */
const KEPT_WHILE_HIDDEN_MS = 60_000;

/**
 * Returns the current state of a workspace. While the page is visible, a stream reports changes.
 *
 * When the stream first delivers `available`, `health` or `delivery`, everything is read, so no change is missed. After
 * that read, the state is live. It is no longer live when the stream fails, delivers `unavailable` or is silent for too
 * long, or when a request gets no answer. Only the workspace and its health, which are small, are also read before the
 * stream opens. The log is not read again while the state is live.
 */
export function useWorkspace(id: string): WatchedWorkspace {
  const [state, setState] = useState(FIRST);
  const change = (what: Partial<typeof FIRST>): void => setState((before) => ({ ...before, ...what }));
  const reread = useRef<() => void>(() => undefined);

  useEffect(() => {
    const over = new AbortController();
    let stream: EventSource | undefined;
    let isLive = false;
    /** The number of the read that makes the state live; undefined when no such read is in progress. */
    let coming: number | undefined;
    let reads = 0;
    /** Whether the log was read, or a read of the log is in progress or has failed. */
    let isLogAsked = false;
    let leaving: ReturnType<typeof setTimeout> | undefined;
    let silence: ReturnType<typeof setTimeout> | undefined;
    let mode: Mode | undefined;
    let gathered: DeliveryShape[] = [];
    let soon: ReturnType<typeof setTimeout> | undefined;

    function take(fresh: readonly DeliveryShape[]): void {
      setState((before) => ({ ...before, deliveries: mergeDeliveries(fresh, before.deliveries ?? []) }));
    }

    /**
     * Reads the workspace, its health and, unless `log` is false, its log. Resolves to whether the read succeeded. By
     * default, the log is read unless the stream reports each delivery.
     */
    async function read(by: AskedBy, log = !isLive && coming === undefined): Promise<boolean> {
      isLogAsked ||= log;
      try {
        const [view, deliveries] = await Promise.all([
          api.view(id, over.signal, by),
          log ? api.deliveries(id, over.signal, by) : undefined,
        ]);
        ({ mode } = view.workspace);
        change({ ...view, error: undefined, gone: false });
        if (deliveries !== undefined) take(deliveries);
        return true;
      } catch (thrown) {
        if (over.signal.aborted) return false;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
        if (error.status === NOT_FOUND) change({ gone: true });
        // While the page shows an earlier state, the liveness says that there is no answer.
        else setState((before) => (error.isUnanswered && before.workspace ? before : { ...before, error }));
        return false;
      }
    }
    reread.current = () => void read("person");

    /** Marks the shown state as possibly outdated. */
    function lose(liveness: Exclude<Liveness, "live">): void {
      const updatedAt = isLive ? { updatedAt: new Date().toISOString() } : {};
      [isLive, coming] = [false, undefined];
      change({ liveness, ...updatedAt });
      // The stream cannot say when the log should be read, so the page shows the log as it is now.
      if (liveness !== "connecting" && !isLogAsked) void read("itself");
    }

    /** Restarts the timeout of the stream. A silent stream is replaced, because its connection may be broken. */
    function awaitWord(): void {
      clearTimeout(silence);
      silence = setTimeout(() => {
        lose("server-away");
        close();
        if (!document.hidden) open();
      }, SILENT_AFTER_MS);
    }

    async function heard(): Promise<void> {
      awaitWord();
      if (isLive || coming !== undefined) return;
      const mine = (coming = ++reads);
      const isRead = await read("itself", true);
      // The stream may have failed during the read.
      if (coming !== mine) return;
      coming = undefined;
      if (!isRead) return;
      isLive = true;
      change({ liveness: "live", updatedAt: undefined });
    }

    function open(): void {
      stream = new EventSource(api.watchUrl(id));
      awaitWord();
      stream.addEventListener("error", () => {
        lose("server-away");
        // The browser closes a stream that the server rejects. A normal request gets the reason, e.g. that the session
        // has ended.
        if (stream?.readyState === EventSource.CLOSED) void read("itself", false);
      });
      stream.addEventListener("unavailable", () => {
        awaitWord();
        lose("core-away");
      });
      stream.addEventListener("available", () => void heard());
      stream.addEventListener("health", ({ data }: MessageEvent<string>) => {
        const health = JSON.parse(data) as HealthShape;
        change({ health });
        void heard();
        // The mode was switched elsewhere. The mode is a part of the workspace, so the workspace is read again.
        if (mode !== undefined && (health?.mode ?? "none") !== mode) void read("itself");
      });
      stream.addEventListener("delivery", ({ data }: MessageEvent<string>) => {
        void heard();
        gathered.push(JSON.parse(data) as DeliveryShape);
        soon ??= setTimeout(() => {
          take(gathered);
          [gathered, soon] = [[], undefined];
        }, GATHER_MS);
      });
      stream.addEventListener("gone", () => {
        close();
        change({ gone: true });
      });
    }

    function close(): void {
      clearTimeout(silence);
      stream?.close();
      stream = undefined;
    }

    function look(): void {
      clearTimeout(leaving);
      if (document.hidden) {
        leaving = setTimeout(() => {
          close();
          lose("connecting");
        }, KEPT_WHILE_HIDDEN_MS);
      } else if (stream === undefined || stream.readyState === EventSource.CLOSED) {
        close();
        open();
      }
    }

    void read("person", false);
    look();
    const stopHearing = onUnanswered((status) => lose(status === 0 ? "server-away" : "core-away"));
    document.addEventListener("visibilitychange", look);
    return () => {
      over.abort();
      clearTimeout(soon);
      clearTimeout(leaving);
      stopHearing();
      document.removeEventListener("visibilitychange", look);
      close();
    };
  }, [id]);

  return {
    ...state,
    changed(workspace) {
      change({ workspace });
      reread.current();
    },
  };
}
