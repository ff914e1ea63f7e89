import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import type { Cli } from "./cli";
import { callFailure, isServiceError, type Called } from "./failure";

/** The parts of a gRPC stream from core that `tailStream` uses. */
interface Tailed {
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
  on(event: "error", listener: () => void): unknown;
  cancel(): void;
}

interface TailOptions<Response, Stream extends Tailed> {
  readonly cli: Cli;
  readonly called: Called;
  open(): Stream;
  /** Called with every message of the stream. */
  take(response: Response, stream: Stream): void;
  /** Called to close the stream after Ctrl-C. The default cancels the stream. */
  leave?(stream: Stream): void;
}

const AGAIN_AFTER_MS = 1_000;
const LEAVE_WITHIN_MS = 1_000;
/**
 * Maximum number of consecutive failures whose code is in `PASSING`, not counting UNAVAILABLE. Each message from core
 * resets the count. After more failures, the command exits with an error, because core itself may be the cause.
 */
const PASSING_MOST = 10;
/** Codes of failures after which a later call may succeed, because a proxy can cause them, e.g. with RST_STREAM. */
const PASSING: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.INTERNAL,
  status.UNKNOWN,
  status.CANCELLED,
  status.RESOURCE_EXHAUSTED,
]);

/**
 * Reads a stream until Ctrl-C. If core stops or the stream breaks, opens the stream again, so that `tail` continues
 * after a restart of core.
 *
 * @throws CliFailure when the first connection fails, or when core rejects a call
 */
export async function tailStream<Response, Stream extends Tailed>({
  cli: { terminal, interruption },
  called,
  open,
  take,
  leave = (stream) => stream.cancel(),
}: TailOptions<Response, Stream>): Promise<void> {
  const interrupted = interruption();
  let wasThere = false;
  let told = "";
  let passed = 0;
  while (!interrupted.aborted) {
    const stream = open();
    const stop = (): void => {
      leave(stream);
      setTimeout(() => stream.cancel(), LEAVE_WITHIN_MS).unref();
    };
    interrupted.addEventListener("abort", stop, { once: true });
    // The loop below handles errors. Without this listener, cancelling a stream that has ended would throw an error.
    stream.on("error", () => undefined);
    let isAlive = false;
    let why = "";
    try {
      for await (const response of stream as AsyncIterable<Response>) {
        isAlive = true;
        passed = 0;
        take(response, stream);
      }
    } catch (error) {
      if (!isServiceError(error)) throw error;
      if (error.code !== status.UNAVAILABLE) passed += 1;
      const isPassing = (wasThere || isAlive) && PASSING.has(error.code) && passed <= PASSING_MOST;
      if (!isPassing && !interrupted.aborted) throw callFailure(error, called);
      if (error.code !== status.UNAVAILABLE) why = ` (${error.details.replaceAll(/\s+/g, " ")})`;
    } finally {
      interrupted.removeEventListener("abort", stop);
    }
    if (interrupted.aborted) return;
    wasThere ||= isAlive;
    if (isAlive || (why !== "" && why !== told)) terminal.tell(`Core has disconnected${why}; reconnecting.`);
    told = why;
    await pause(AGAIN_AFTER_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
}
