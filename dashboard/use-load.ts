import { useEffect, useState } from "preact/hooks";
import { ApiError } from "./api";

export interface Loaded<T> {
  /** What came last, also while something newer is on its way. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  again(): void;
}

/** Loads what depends on `by`, anew whenever that changes; what came too late is thrown away. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, by: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "again">>({
    data: undefined,
    error: undefined,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const over = new AbortController();
    setState(({ data }) => ({ data, error: undefined, loading: true }));
    load(over.signal).then(
      (data) => !over.signal.aborted && setState({ data, error: undefined, loading: false }),
      (thrown: unknown) => {
        if (over.signal.aborted) return;
        const error = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
        setState(({ data }) => ({ data, error, loading: false }));
      },
    );
    return () => over.abort();
  }, [...by, round]);
  return { ...state, again: () => setRound(round + 1) };
}
