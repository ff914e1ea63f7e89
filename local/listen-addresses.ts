import type { Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { formatHostPort, type HostPort } from "../runtime/settings";
import { giveBack, listenOn, portOf } from "./free-port";
import { StartFault } from "./start-fault";
import { LISTENERS, type ListenAddresses, type Listener } from "./start-settings";

const LOOK_EVERY_MS = 100;

/**
 * Resolves to the addresses with a port each, all free at this moment. Throws
 * StartFault when a port cannot be used.
 *
 * @param patienceMs milliseconds to wait for a port in use, since processes of an
 *   earlier run may still be stopping
 */
export async function freeAddresses(
  wanted: ListenAddresses,
  patienceMs: number,
  signal: AbortSignal,
): Promise<ListenAddresses> {
  // Held until all are found, so that no port is used twice.
  const held: Server[] = [];
  try {
    const found: Partial<Record<Listener, HostPort>> = {};
    for (const name of Object.keys(LISTENERS) as Listener[]) {
      const server = await take(name, wanted[name], patienceMs, signal);
      held.push(server);
      found[name] = { host: wanted[name].host, port: portOf(server) };
    }
    return found as ListenAddresses;
  } finally {
    await Promise.all(held.map(giveBack));
  }
}

/** Returns the address to connect to a listener: loopback if it listens on all addresses. */
export function reachable({ host, port }: HostPort): string {
  const at = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return formatHostPort({ host: at, port });
}

async function take(
  name: Listener,
  { host, port }: HostPort,
  patienceMs: number,
  signal: AbortSignal,
): Promise<Server> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await listenOn(host, port);
    } catch (error) {
      signal.throwIfAborted();
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EADDRINUSE" || performance.now() > end) {
        throw new StartFault(
          `${name}: ${formatHostPort({ host, port })} ${why(code)}. ` +
            `Set another address, such as ${name}=127.0.0.1:${port > 50_000 ? port - 10_000 : port + 10_000}, and start again.`,
        );
      }
      await sleep(LOOK_EVERY_MS);
    }
  }
}

function why(code: string | undefined): string {
  switch (code) {
    case "EADDRINUSE":
      return "is in use by another program";
    case "EACCES":
      return "needs the rights of root";
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "is not an address of this machine";
    default:
      return `cannot be used (${code})`;
  }
}
