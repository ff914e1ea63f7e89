import { setTimeout as pause } from "node:timers/promises";
import type { ServiceError } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { Cli } from "./cli";
import { callFailure, isServiceError, type Called } from "./failure";

/** The parts of a gRPC stream from core that a tail uses. */
export interface Tailed<Response> {
  on(event: "data", listener: (response: Response) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  cancel(): void;
}

export interface TailOptions<Response, Stream extends Tailed<Response>> {
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
 * Reads a stream until Ctrl-C. When core disconnects or stops, the stream is reopened, so a tail outlives restarts.
 *
 * @throws CliFailure when core cannot be reached the first time, or rejects the call
 */
export async function tailStream<Response, Stream extends Tailed<Response>>(
  options: TailOptions<Response, Stream>,
): Promise<void> {
  const { terminal } = options.cli;
  const interrupted = options.cli.interruption();
  let wasThere = false;
  while (!interrupted.aborted) {
    const { error, isAlive } = await readOnce(options, interrupted);
    if (interrupted.aborted) return;
    wasThere ||= isAlive;
    if (error !== undefined && !(wasThere && error.code === status.UNAVAILABLE)) {
      throw callFailure(error, options.called);
    }
    if (isAlive) terminal.tell("Core has disconnected; reconnecting.");
    await pause(AGAIN_AFTER_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
}

function readOnce<Response, Stream extends Tailed<Response>>(
  { open, take, leave = (stream) => stream.cancel() }: TailOptions<Response, Stream>,
  interrupted: AbortSignal,
): Promise<{ readonly error?: ServiceError; readonly isAlive: boolean }> {
  return new Promise((resolve, reject) => {
    const stream = open();
    let isAlive = false;
    const stop = (): void => {
      leave(stream);
      setTimeout(() => stream.cancel(), LEAVE_WITHIN_MS).unref();
    };
    const over = (error?: Error): void => {
      interrupted.removeEventListener("abort", stop);
      if (error !== undefined && !isServiceError(error)) reject(error);
      else resolve({ isAlive, ...(error === undefined ? {} : { error }) });
    };
    stream.on("data", (response) => {
      isAlive = true;
      take(response, stream);
    });
    stream.on("error", over);
    stream.on("end", () => over());
    interrupted.addEventListener("abort", stop, { once: true });
  });
}
