import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Client } from "@grpc/grpc-js";

export interface RenewedClientOptions<C extends Client> {
  create(): C;
  /** Milliseconds between renewals. */
  readonly everyMs: number;
  /**
   * Is called after a new client has replaced `current`. The owner of the streams should then close the streams of the
   * previous client.
   */
  onRenewed(): void;
}

const CONNECT_WITHIN_MS = 5_000;
/**
 * Milliseconds that a new client may take to connect to the other addresses after it has connected to the first one.
 */
const FURTHER_WITHIN_MS = 1_000;

/**
 * Holds a gRPC client, and regularly replaces it with a new client. A gRPC client looks up core's name again only when
 * one of its connections closes. So without renewal, a newly started core would get no streams while the other cores
 * keep running. A new client looks up the name, and connects to all addresses. If a new client cannot connect, e.g.
 * because name servers do not answer, the current client remains in use.
 */
export function createRenewedClient<C extends Client>({
  create,
  everyMs,
  onRenewed,
}: RenewedClientOptions<C>) {
  let current = create();
  /** The client before `current`. It stays open until the next renewal, because its streams may still carry calls. */
  let previous: C | undefined;
  /** The client that will replace `current`, while it connects. */
  let next: C | undefined;
  const over = new AbortController();

  async function renew(): Promise<void> {
    next = create();
    try {
      await untilConnected(next, CONNECT_WITHIN_MS);
      await sleep(FURTHER_WITHIN_MS, undefined, { signal: over.signal, ref: false });
    } catch {
      next.close();
      return;
    }
    previous?.close();
    [previous, current, next] = [current, next, undefined];
    onRenewed();
  }

  async function renewForever(): Promise<void> {
    for (;;) {
      await sleep(everyMs, undefined, { signal: over.signal, ref: false });
      await renew();
    }
  }

  renewForever().catch(() => undefined); // The only error is the abort of `over`.

  return {
    get current() {
      return current;
    },
    close(): void {
      over.abort();
      for (const client of [previous, current, next]) client?.close();
    },
  };
}

/** Rejects if the client does not connect to any address within `withinMs`. */
export function untilConnected(client: Client, withinMs: number): Promise<void> {
  return promisify(client.waitForReady.bind(client))(Date.now() + withinMs);
}
