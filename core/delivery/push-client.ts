import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TLSSocket } from "node:tls";
import { Agent, Client, type Dispatcher } from "undici";
import type { PushOutcome } from "../domain/delivery";
import type { AttemptStep, PushAttempt, PushTracer } from "../ports/push-tracer";
import { sendPush, type PushProgress } from "./push-request";
import { openConnection, PushFault, type PushConnectionOptions } from "./open-connection";

/** The contract's deadline of a push: name look-up, connection, TLS, headers and body together. */
export const PUSH_DEADLINE_MS = 5_000;
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
    let address: string | undefined;
    let sent = false;
    sentTo.set(attempt.eventId, (remote) => {
      address = remote;
      sent = true;
      done("send", "signed with every active secret, newest first");
    });
    const progress: PushProgress = { status: undefined, isLate: false };
    let fault: PushFault | undefined;
    try {
      await sendPush(dispatcher, attempt, PUSH_DEADLINE_MS, progress);
      const { status = 0 } = progress;
      if (status < 200 || status >= 300) fault = statusFault(status);
      else done("status", String(status));
    } catch (error) {
      fault = toPushFault(error, progress, sent);
    } finally {
      sentTo.delete(attempt.eventId);
    }
    const facts = { status: progress.status, latencyMs: performance.now() - began };
    return fault === undefined
      ? { ok: true, ...facts, address }
      : {
          ok: false,
          ...facts,
          address: fault.address ?? address,
          failure: fault.failure,
          detail: fault.message,
        };
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

function toPushFault(error: unknown, { isLate, status }: PushProgress, sent: boolean): PushFault {
  if (isLate) {
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
