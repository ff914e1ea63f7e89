import type { AttemptStep } from "../../contract/deliveries";
import { PUSH_DEADLINE_MS } from "../../contract/numbers";
import type { PushOutcome } from "../domain/delivery";
import type { PushAttempt, PushTracer } from "../ports/outside";
import { openConnection, PushFault, type PushConnectionOptions } from "./open-connection";
import { createPushConnections, type PushConnections } from "./push-connections";
import { sendPush, type PushAnswer, type PushProgress } from "./push-request";
import { createTlsSessions } from "./tls-sessions";

/**
 * Maximum milliseconds that an attempt waits until a connection is ready. The attempt's deadline is a little later, so
 * the log can name the failed step.
 */
const CONNECT_WITHIN_MS = PUSH_DEADLINE_MS - 100;

export interface PushClient extends PushTracer {
  /** Makes one attempt. If an open connection is free, uses this connection. Never rejects. */
  push(attempt: PushAttempt): Promise<PushOutcome>;
  /** Closes the connections that are kept open. */
  close(): Promise<void>;
}

export function createPushClient(options: PushConnectionOptions): PushClient {
  const resuming = { ...options, sessions: createTlsSessions() };
  const connections = createPushConnections((url) => openConnection(resuming, url, CONNECT_WITHIN_MS));
  return {
    push: (attempt) => attemptOver(connections, attempt),
    async trace(attempt, done) {
      // `trace` never resumes a TLS session, so it always makes a full handshake and checks the certificate.
      const own = createPushConnections((url) => openConnection(options, url, CONNECT_WITHIN_MS, done));
      try {
        return await attemptOver(own, attempt, done);
      } finally {
        own.close();
      }
    },
    close: async () => connections.close(),
  };
}

async function attemptOver(
  { connect }: PushConnections,
  attempt: PushAttempt,
  done: (step: AttemptStep, detail: string) => void = () => {},
): Promise<PushOutcome> {
  const began = performance.now();
  const progress: PushProgress = { connection: undefined, isLate: false };
  let answer: PushAnswer | undefined;
  let fault: PushFault | undefined;
  try {
    answer = await sendPush(connect, attempt, PUSH_DEADLINE_MS, progress, () =>
      done("send", "signed with every active secret, newest first"),
    );
    const { status } = answer;
    if (status < 200 || status >= 300) fault = statusFault(status);
    else done("status", String(status));
  } catch (error) {
    fault = toPushFault(error as Error, progress);
  }
  const latencyMs = (answer?.at ?? performance.now()) - began;
  const address = fault?.address ?? progress.connection?.address;
  const head = { status: answer?.status, latencyMs, address };
  if (fault === undefined) return { ok: true, ...head };
  return { ok: false, ...head, failure: fault.failure, detail: fault.message, response: answer?.response };
}

/**
 * Returns the failure for a status that is not 2xx. The retry rules treat all these statuses alike, including 400, 404
 * and 410 (Gone): no status is permanent.
 */
function statusFault(status: number): PushFault {
  const redirect = status >= 300 && status < 400 ? ": redirects are not followed, set the final URL" : "";
  return new PushFault("status", `the bridge answered with ${status} instead of a 2xx${redirect}`);
}

function toPushFault(error: Error, { connection, isLate }: PushProgress): PushFault {
  if (isLate) {
    const missing = connection === undefined ? "accept a connection" : "answer";
    return new PushFault(
      "timeout",
      `the bridge did not ${missing} within ${PUSH_DEADLINE_MS / 1000} seconds`,
    );
  }
  if (error instanceof PushFault) return error;
  const { code = error.message } = error as NodeJS.ErrnoException;
  return new PushFault("body", `the answer broke off or was not HTTP (${code})`);
}
