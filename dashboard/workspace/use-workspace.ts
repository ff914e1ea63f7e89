import { useEffect, useRef, useState } from "preact/hooks";
import type { DeliveryShape, HealthShape, Mode, WorkspaceShape } from "../../edge/dashboard/shapes";
import { api, ApiError, onUnanswered, type AskedBy } from "../api";
import { mergeDeliveries } from "../words/delivery-list";

/** Whether the page shows the current state. */
export type Liveness = "connecting" | "live" | "unavailable";

export interface WatchedWorkspace {
  readonly workspace: WorkspaceShape | undefined;
  readonly health: HealthShape;
  /** Newest first; undefined while loading. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly liveness: Liveness;
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
  error: undefined,
  gone: false,
};

/** Milliseconds after which a silent stream is considered broken. The server sends a heartbeat every 2 seconds. */
const SILENT_AFTER_MS = 5_000;

/**
 * Returns the current state of a workspace. While the page is visible, a stream reports changes.
 *
 * The state becomes live when the stream delivers `available`, `health` or `delivery`. It is no longer live when the
 * stream fails, delivers `unavailable` or is silent for too long, or when a request gets no answer. Each time the state
 * becomes live, everything is read again, so no change is missed.
 */
export function useWorkspace(id: string): WatchedWorkspace {
  const [state, setState] = useState(FIRST);
  const change = (what: Partial<typeof FIRST>): void => setState((before) => ({ ...before, ...what }));
  const reread = useRef<() => void>(() => undefined);

  useEffect(() => {
    const over = new AbortController();
    let stream: EventSource | undefined;
    let isLive = false;
    let silence: ReturnType<typeof setTimeout> | undefined;
    let mode: Mode | undefined;
    let gathered: DeliveryShape[] = [];
    let soon: ReturnType<typeof setTimeout> | undefined;

    function take(fresh: readonly DeliveryShape[]): void {
      setState((before) => ({ ...before, deliveries: mergeDeliveries(fresh, before.deliveries ?? []) }));
    }

    async function read(by: AskedBy): Promise<void> {
      try {
        const [view, deliveries] = await Promise.all([
          api.view(id, over.signal, by),
          api.deliveries(id, over.signal, by),
        ]);
        ({ mode } = view.workspace);
        change({ ...view, error: undefined, gone: false });
        take(deliveries);
      } catch (error) {
        if (over.signal.aborted) return;
        const shown = error instanceof ApiError ? error : new ApiError(0, String(error));
        change(shown.status === NOT_FOUND ? { gone: true } : { error: shown });
      }
    }
    reread.current = () => void read("person");

    /** Marks the shown state as possibly outdated. */
    function lose(liveness: Exclude<Liveness, "live"> = "unavailable"): void {
      isLive = false;
      change({ liveness });
    }

    /** Restarts the timeout of the stream. A silent stream is replaced, because its connection may be broken. */
    function awaitWord(): void {
      clearTimeout(silence);
      silence = setTimeout(() => {
        lose();
        close();
        open();
      }, SILENT_AFTER_MS);
    }

    function heard(): void {
      awaitWord();
      if (isLive) return;
      isLive = true;
      change({ liveness: "live" });
      void read("itself");
    }

    function open(): void {
      stream = new EventSource(api.watchUrl(id));
      awaitWord();
      stream.addEventListener("error", () => {
        lose();
        // The browser closes a stream that the server rejects. A normal request gets the reason, e.g. that the session
        // has ended.
        if (stream?.readyState === EventSource.CLOSED) void read("itself");
      });
      stream.addEventListener("unavailable", () => {
        awaitWord();
        lose();
      });
      stream.addEventListener("available", heard);
      stream.addEventListener("health", ({ data }: MessageEvent<string>) => {
        const health = JSON.parse(data) as HealthShape;
        change({ health });
        heard();
        // The mode was switched elsewhere. The mode is a part of the workspace, so the workspace is read again.
        if (mode !== undefined && (health?.mode ?? "none") !== mode) void read("itself");
      });
      stream.addEventListener("delivery", ({ data }: MessageEvent<string>) => {
        heard();
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
    const stopHearing = onUnanswered(lose);
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
