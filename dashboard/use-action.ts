import { useState } from "preact/hooks";
import { ApiError } from "./api";

/** A user's action, with its state: whether the action is pending, and its error. */
export interface Action<Arguments extends readonly unknown[]> {
  readonly pending: boolean;
  readonly error: ApiError | undefined;
  run(...given: Arguments): void;
  /** Removes the error. */
  clear(): void;
}

/** Wraps `act` in an `Action`. While the action is pending, `run` does nothing. */
export function useAction<Arguments extends readonly unknown[]>(
  act: (...given: Arguments) => Promise<void>,
): Action<Arguments> {
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  async function start(given: Arguments): Promise<void> {
    setPending(true);
    setError(undefined);
    try {
      await act(...given);
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown)));
    } finally {
      setPending(false);
    }
  }
  return {
    pending,
    error,
    run(...given) {
      if (!pending) void start(given);
    },
    clear: () => setError(undefined),
  };
}
