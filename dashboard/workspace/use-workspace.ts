import { useEffect, useRef, useState } from "preact/hooks";
import type { DeliveryShape, HealthShape, Mode, WorkspaceShape } from "../../edge/dashboard/shapes";
import { api, ApiError, onUnanswered, type AskedBy } from "../api";
import { mergeDeliveries } from "../words/delivery-list";

/** Whether what is shown is as it is now. */
export type Liveness = "connecting" | "live" | "away";

export interface WatchedWorkspace {
  readonly workspace: WorkspaceShape | undefined;
  readonly health: HealthShape;
  /** Newest first; undefined until they were loaded. */
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly liveness: Liveness;
  readonly error: ApiError | undefined;
  /** It was deleted. */
  readonly gone: boolean;
  /** Takes a workspace as a change has left it. */
  changed(workspace: WorkspaceShape): void;
}

const NOT_FOUND = 404;
/** Deliveries that come together are shown together. */
const GATHER_MS = 150;
const FIRST: Omit<WatchedWorkspace, "changed"> = {
  workspace: undefined,
  health: null,
  deliveries: undefined,
  liveness: "connecting",
  error: undefined,
  gone: false,
};

/** The stream says something every 2 seconds while all is well. */
const SILENT_AFTER_MS = 5_000;

/**
 * A workspace as it is now. While the page is looked at, a stream tells what happens. It is live from the
 * first word of the stream until core is said to be away, a request gets no answer, or the stream is silent.
 * Each time it becomes live all is read again, so nothing that happened in between is missing.
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

    /** From here on what is shown may be old. */
    function lose(liveness: Exclude<Liveness, "live"> = "away"): void {
      isLive = false;
      change({ liveness });
    }

    /** A silent stream is given up for a new one: its connection may be broken without anybody saying so. */
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
        // Refused, not lost: reading finds out why, such as that the session has ended.
        if (stream?.readyState === EventSource.CLOSED) void read("itself");
      });
      stream.addEventListener("away", () => {
        awaitWord();
        lose();
      });
      stream.addEventListener("here", heard);
      stream.addEventListener("health", ({ data }: MessageEvent<string>) => {
        const health = JSON.parse(data) as HealthShape;
        change({ health });
        heard();
        // Somebody else has switched the mode, which is a part of the workspace.
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
