import { useEffect, useState } from "preact/hooks";
import { ApiError, READ_AGAIN_MS, type AskedBy } from "./api";

export interface Loaded<T> {
  /** The last result, which remains available while a newer result is loading. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  again(): void;
}

/**
 * Calls `load` once, and again whenever `by` changes. An unanswered call is retried. Results for an earlier `by` are
 * ignored.
 */
export function useLoad<T>(
  load: (signal: AbortSignal, asked: AskedBy) => Promise<T>,
  by: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "again">>({
    data: undefined,
    error: undefined,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const over = new AbortController();
    let soon: ReturnType<typeof setTimeout> | undefined;
    async function look(asked: AskedBy): Promise<void> {
      try {
        const data = await load(over.signal, asked);
        if (!over.signal.aborted) setState({ data, error: undefined, loading: false });
      } catch (thrown) {
        if (over.signal.aborted) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
        setState(({ data }) => ({ data, error, loading: false }));
        if (error.isUnanswered) soon = setTimeout(() => void look("itself"), READ_AGAIN_MS);
      }
    }
    setState(({ data }) => ({ data, error: undefined, loading: true }));
    void look("person");
    return () => {
      over.abort();
      clearTimeout(soon);
    };
  }, [...by, round]);
  return { ...state, again: () => setRound(round + 1) };
}
