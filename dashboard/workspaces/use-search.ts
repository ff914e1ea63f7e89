import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkspaceShape } from "../../proto/json/shapes";
import { api, ApiError, READ_AGAIN_MS, type AskedBy } from "../api";

export interface Search {
  readonly found: readonly WorkspaceShape[];
  readonly lookedThrough: number;
  /** Whether all workspaces were searched. */
  readonly done: boolean;
  readonly pending: boolean;
  readonly error: ApiError | undefined;
  lookOn(): void;
}

/** Number of matches after which the search pauses. */
const ENOUGH = 50;

/**
 * Searches the workspaces, newest first, until `ENOUGH` matches are found or all workspaces are searched. If a request
 * gets no answer, the search is retried.
 */
export function useSearch(search: string): Search {
  const [state, setState] = useState<Omit<Search, "lookOn" | "pending">>({
    found: [],
    lookedThrough: 0,
    done: false,
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
        const page = await api.list({ after: after.current, search, size: 25 }, signal, asked);
        fresh += page.workspaces.length;
        after.current = page.next ?? "";
        setState(({ found, lookedThrough }) => ({
          found: [...found, ...page.workspaces],
          lookedThrough: lookedThrough + page.lookedThrough,
          done: page.next === null,
          error: undefined,
        }));
        if (page.next === null) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      const shown = error instanceof ApiError ? error : new ApiError(0, String(error));
      setState((before) => ({ ...before, error: shown }));
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
  return { ...state, pending, lookOn: () => void (pending || look("person")) };
}
