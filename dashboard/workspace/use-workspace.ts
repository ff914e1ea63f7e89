import { useEffect, useRef, useState } from "preact/hooks";
import type { DeliveryShape, HealthShape, Mode, WorkspaceShape } from "../../edge/dashboard/shapes";
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

/**
 * Returns the current state of a workspace. While the page is visible, a stream reports changes.
 *
 * When the stream delivers `available`, `health` or `delivery`, everything is read again, so no change is missed. After
 * that read, the state is live. It is no longer live when the stream fails, delivers `unavailable` or is silent for too
 * long, or when a request gets no answer.
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
    let silence: ReturnType<typeof setTimeout> | undefined;
    let mode: Mode | undefined;
    let gathered: DeliveryShape[] = [];
    let soon: ReturnType<typeof setTimeout> | undefined;

    function take(fresh: readonly DeliveryShape[]): void {
      setState((before) => ({ ...before, deliveries: mergeDeliveries(fresh, before.deliveries ?? []) }));
    }

    /** Reads everything. Resolves to whether the read succeeded. */
    async function read(by: AskedBy): Promise<boolean> {
      try {
        const [view, deliveries] = await Promise.all([
          api.view(id, over.signal, by),
          api.deliveries(id, over.signal, by),
        ]);
        ({ mode } = view.workspace);
        change({ ...view, error: undefined, gone: false });
        take(deliveries);
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
    }

    /** Restarts the timeout of the stream. A silent stream is replaced, because its connection may be broken. */
    function awaitWord(): void {
      clearTimeout(silence);
      silence = setTimeout(() => {
        lose("server-away");
        close();
        open();
      }, SILENT_AFTER_MS);
    }

    async function heard(): Promise<void> {
      awaitWord();
      if (isLive || coming !== undefined) return;
      const mine = (coming = ++reads);
      const isRead = await read("itself");
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
        if (stream?.readyState === EventSource.CLOSED) void read("itself");
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
      if (document.hidden) {
        close();
        lose("connecting");
      } else if (stream === undefined || stream.readyState === EventSource.CLOSED) {
        close();
        open();
      }
    }

    void read("person");
    look();
    const stopHearing = onUnanswered((status) => lose(status === 0 ? "server-away" : "core-away"));
    document.addEventListener("visibilitychange", look);
    return () => {
      over.abort();
      clearTimeout(soon);
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
