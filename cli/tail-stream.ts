import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import type { Cli } from "./cli";
import { callFailure, isServiceError, type Called } from "./failure";

/** The parts of a gRPC stream from core that a tail uses. */
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
 * Reads a stream until Ctrl-C. When core disconnects or stops, the stream is reopened, so a tail continues after a
 * restart of core.
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
    try {
      for await (const response of stream as AsyncIterable<Response>) {
        isAlive = true;
        take(response, stream);
      }
    } catch (error) {
      if (!isServiceError(error)) throw error;
      const isRestart = (wasThere || isAlive) && error.code === status.UNAVAILABLE;
      if (!isRestart && !interrupted.aborted) throw callFailure(error, called);
    } finally {
      interrupted.removeEventListener("abort", stop);
    }
    if (interrupted.aborted) return;
    wasThere ||= isAlive;
    if (isAlive) terminal.tell("Core has disconnected; reconnecting.");
    await pause(AGAIN_AFTER_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
}
