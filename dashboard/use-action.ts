import { useState } from "preact/hooks";
import { ApiError } from "./api";

/** Something that a person has done: whether it is under way, and why it was refused. */
export interface Action<Arguments extends readonly unknown[]> {
  readonly pending: boolean;
  readonly error: ApiError | undefined;
  run(...given: Arguments): void;
  /** Forgets the refusal. */
  clear(): void;
}

/** One at a time: while it is under way, running it again does nothing. */
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
