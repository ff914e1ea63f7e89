import type { Logger } from "chat-bridge-runner";
import { untilAnswered } from "../client/retrying";

export interface AttemptParts {
  readonly log: Logger;
  /** Aborted when the bridge stops. */
  readonly signal: AbortSignal;
}

/** The result of an attempt: undefined if it failed. */
interface Attempted<T> {
  readonly value: T;
}

export type Attempts = ReturnType<typeof createAttempts>;

/**
 * Returns functions that make requests in a room, and log failures. Both functions reject only when the bridge stops.
 */
export function createAttempts({ log, signal }: AttemptParts) {
  /** Resolves to the value of the call; undefined if the call rejects. `what` completes the log line "cannot …". */
  async function once<T>(
    what: string,
    roomId: string,
    call: () => Promise<T>,
  ): Promise<Attempted<T> | undefined> {
    try {
      return { value: await call() };
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ roomId, problem: (error as Error).message }, `cannot ${what}`);
      return undefined;
    }
  }

  return {
    once,
    /** Like `once`, but repeats the call until the homeserver answers. */
    untilAnswered: <T>(what: string, roomId: string, call: () => Promise<T>) =>
      once(what, roomId, () => untilAnswered(call, { signal })),
  };
}
