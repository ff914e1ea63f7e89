import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkspaceShape } from "../../edge/dashboard/shapes";
import { api, ApiError } from "../api";

export interface Search {
  readonly found: readonly WorkspaceShape[];
  readonly lookedThrough: number;
  /** All of them were looked through. */
  readonly done: boolean;
  readonly pending: boolean;
  readonly error: ApiError | undefined;
  lookOn(): void;
}

/** Enough to look at before someone asks for more. */
const ENOUGH = 50;

/** Looks through the workspaces, newest first, until enough are found or there are no more. */
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

  async function look(): Promise<void> {
    const { signal } = (over.current = new AbortController());
    setPending(true);
    try {
      for (let fresh = 0; fresh < ENOUGH;) {
        const page = await api.list({ after: after.current, search, size: 25 }, signal);
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
    }
    setPending(false);
  }

  useEffect(() => {
    void look();
    return () => over.current?.abort();
  }, []);
  return { ...state, pending, lookOn: () => void (pending || look()) };
}
