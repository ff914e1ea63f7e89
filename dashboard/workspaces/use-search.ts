import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkspaceState } from "../../contract/workspace-states";
import type { StateCounts, WorkspaceShape } from "../../proto/json/shapes";
import { api, ApiError, READ_AGAIN_MS, type AskedBy } from "../api";

export interface Search {
  readonly found: readonly WorkspaceShape[];
  readonly lookedThrough: number;
  /** Whether all workspaces were searched. */
  readonly done: boolean;
  readonly pending: boolean;
  readonly counts: StateCounts | null;
  readonly error: ApiError | undefined;
  lookOn(): void;
}

/** Number of matches after which the search pauses. */
const ENOUGH = 50;

/**
 * Searches all workspaces, or the workspaces with one state, and finds the most urgent states first. The search stops
 * when `ENOUGH` matches are found or all workspaces are searched. If a request gets no answer, the search is retried.
 */
export function useSearch(search: string, state: WorkspaceState | undefined): Search {
  const [results, setResults] = useState<Omit<Search, "lookOn" | "pending">>({
    found: [],
    lookedThrough: 0,
    done: false,
    counts: null,
    error: undefined,
  });
  const [pending, setPending] = useState(true);
  const after = useRef("");
  const over = useRef<AbortController | undefined>(undefined);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  async function look(asked: AskedBy): Promise<void> {
    clearTimeout(soon.current);
    const { signal } = (over.current = new AbortController());
    setPending(true);
    try {
      for (let fresh = 0; fresh < ENOUGH;) {
        const page = await api.list(
          { after: after.current, search, size: 25, state: state ?? "" },
          signal,
          asked,
        );
        fresh += page.workspaces.length;
        after.current = page.next ?? "";
        setResults(({ found, lookedThrough }) => ({
          found: [...found, ...page.workspaces],
          lookedThrough: lookedThrough + page.lookedThrough,
          done: page.next === null,
          counts: page.counts,
          error: undefined,
        }));
        if (page.next === null) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      const shown = error instanceof ApiError ? error : new ApiError(0, String(error));
      setResults((before) => ({ ...before, error: shown }));
      if (shown.isUnanswered) soon.current = setTimeout(() => void look("itself"), READ_AGAIN_MS);
    }
    setPending(false);
  }

  useEffect(() => {
    void look("person");
    return () => {
      over.current?.abort();
      clearTimeout(soon.current);
    };
  }, []);
  return { ...results, pending, lookOn: () => void (pending || look("person")) };
}
