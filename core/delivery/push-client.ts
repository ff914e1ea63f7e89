import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TLSSocket } from "node:tls";
import { Agent, Client, type Dispatcher } from "undici";
import type { PushOutcome } from "../domain/delivery";
import type { AttemptStep, PushAttempt, PushTracer } from "../ports/push-tracer";
import { openConnection, PushFault, type PushConnectionOptions } from "./open-connection";

/** The contract's deadline of a push: name look-up, connection, TLS, headers and body together. */
export const PUSH_DEADLINE_MS = 5_000;
/** How much of an answer is read: nothing is done with it. */
const ANSWER_MAX_BYTES = 16 * 1024;
/** A connection is given up a little before its attempt, so that the log says where and how far it got. */
const CONNECT_WITHIN_MS = PUSH_DEADLINE_MS - 100;
const IDLE_CONNECTION_MS = 4_000;
/** Off: the deadline of the attempt bounds all of it. */
const TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;

export interface PushClient extends PushTracer {
  /** Makes one attempt over connections that are kept open. Never rejects. */
  push(attempt: PushAttempt): Promise<PushOutcome>;
  close(): Promise<void>;
}

/** What undici tells of a request whose headers are sent; how we learn which connection it took. */
interface SentHeaders {
  readonly headers: string;
  readonly socket: TLSSocket;
}
const SENT_CHANNEL = "undici:client:sendHeaders";
const EVENT_ID_IN_HEADERS = /service-event-id: (\S+)/i;

export function createPushClient(options: PushConnectionOptions): PushClient {
  const agent = new Agent({
    connect: connector(options),
    pipelining: 1,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    ...TIMEOUTS,
  });
  /** Told of the address that an attempt is sent to, by event id: an event has one attempt under way at most. */
  const sentTo = new Map<string, (address: string | undefined) => void>();
  const onSent = (message: unknown): void => {
    const { headers, socket } = message as SentHeaders;
    sentTo.get(EVENT_ID_IN_HEADERS.exec(headers)?.[1] ?? "")?.(socket.remoteAddress);
  };
  subscribe(SENT_CHANNEL, onSent);

  async function attemptOver(
    dispatcher: Dispatcher,
    attempt: PushAttempt,
    done: (step: AttemptStep, detail: string) => void = () => {},
  ): Promise<PushOutcome> {
    const began = performance.now();
    const seen: { address?: string | undefined; sent: boolean } = { sent: false };
    sentTo.set(attempt.eventId, (address) => {
      seen.address = address;
      seen.sent = true;
      done("send", "signed with every active secret, newest first");
    });
    // No AbortSignal.timeout: of every attempt, however short, that makes an error when the 5 seconds are over.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), PUSH_DEADLINE_MS);
    const deadline = late.signal;
    const outcome = (
      status: number | undefined,
      fault?: Pick<PushFault, "failure" | "message" | "address">,
    ): PushOutcome => {
      const facts = { status, latencyMs: performance.now() - began, address: fault?.address ?? seen.address };
      return fault === undefined
        ? { ok: true, ...facts }
        : { ok: false, ...facts, failure: fault.failure, detail: fault.message };
    };
    let status: number | undefined;
    try {
      status = await send(dispatcher, attempt, deadline, (answered) => (status = answered));
      if (status < 200 || status >= 300) return outcome(status, statusFault(status));
      done("status", String(status));
      return outcome(status);
    } catch (error) {
      return outcome(status, toPushFault(error, deadline, seen.sent, status));
    } finally {
      clearTimeout(timer);
      sentTo.delete(attempt.eventId);
    }
  }

  return {
    push: (attempt) => attemptOver(agent, attempt),
    async trace(attempt, done) {
      const client = new Client(attempt.url.origin, { ...TIMEOUTS, connect: connector(options, done) });
      try {
        return await attemptOver(client, attempt, done);
      } finally {
        await client.destroy();
      }
    },
    async close() {
      unsubscribe(SENT_CHANNEL, onSent);
      await agent.destroy();
    },
  };
}

/**
 * Sends the request, once, and reads its answer up to a bound. Not again when a
 * kept connection breaks: whether the bridge had the request by then cannot be
 * known, and what is tried again, and when, is the retry table's.
 */
async function send(
  dispatcher: Dispatcher,
  attempt: PushAttempt,
  deadline: AbortSignal,
  onStatus: (status: number) => void,
): Promise<number> {
  const { statusCode, body } = await dispatcher.request({
    origin: attempt.url.origin,
    path: attempt.url.pathname + attempt.url.search,
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Service-Signature": attempt.signature,
      "Service-Event-Id": attempt.eventId,
      "Service-Workspace": attempt.workspaceId,
    },
    body: attempt.envelope,
    signal: deadline,
  });
  onStatus(statusCode);
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_MAX_BYTES) break; // Ends the connection, too.
  }
  return statusCode;
}

function connector(options: PushConnectionOptions, done?: (step: AttemptStep, detail: string) => void) {
  return (
    { protocol, host }: { protocol: string; host?: string | undefined },
    callback: (...args: [Error, null] | [null, TLSSocket]) => void,
  ): void => {
    const url = new URL(`${protocol}//${host ?? ""}`);
    openConnection(options, url, CONNECT_WITHIN_MS, done).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

function statusFault(status: number): PushFault {
  const redirect = status >= 300 && status < 400 ? ": redirects are not followed, set the final URL" : "";
  return new PushFault("status", `the bridge answered ${status} where any 2xx is expected${redirect}`);
}

function toPushFault(
  error: unknown,
  deadline: AbortSignal,
  sent: boolean,
  status: number | undefined,
): PushFault {
  if (deadline.aborted) {
    const missing = status !== undefined ? "the end of the answer" : sent ? "an answer" : "a connection";
    return new PushFault(
      "timeout",
      `the bridge did not give ${missing} within ${PUSH_DEADLINE_MS / 1000} seconds`,
    );
  }
  if (error instanceof PushFault) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  return new PushFault("body", `the answer broke off or was not HTTP${code === "" ? "" : ` (${code})`}`);
}
