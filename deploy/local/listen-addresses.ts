import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { formatHostPort, type HostPort } from "../../runtime/settings";
import { StartFault } from "./start-fault";
import type { ListenAddresses, Listener } from "./start-settings";

/**
 * Range of the random ports. Operating systems use higher ports for outgoing connections, so a free port above this
 * range could soon be in use.
 */
const PORTS = { from: 20_000, to: 30_000 };
const MOST_TRIES = 20;
const LOOK_EVERY_MS = 100;

/** Resolves to `port`, or to a free port if `port` is 0. Rejects with the system's error if a port cannot be used. */
export async function freePort(host: string, port = 0): Promise<number> {
  const server = await listenOn({ host, port });
  const found = portOf(server);
  await giveBack(server);
  return found;
}

/**
 * Resolves to the same addresses, with a free port instead of each port 0. All resulting ports are free when the
 * promise resolves. Throws StartFault when a port cannot be used.
 *
 * @param patienceMs milliseconds to wait for a port that is in use, because processes
 *   of an earlier run can still be stopping
 */
export async function freeAddresses(
  wanted: ListenAddresses,
  patienceMs: number,
  signal: AbortSignal,
): Promise<ListenAddresses> {
  // Each port stays open until the last port is found, so that no port is chosen twice.
  const held: Server[] = [];
  const found = { ...wanted };
  try {
    for (const [name, at] of Object.entries(wanted) as [Listener, HostPort][]) {
      const server = await take(name, at, patienceMs, signal);
      held.push(server);
      found[name] = { host: at.host, port: portOf(server) };
    }
    return found;
  } finally {
    await Promise.all(held.map(giveBack));
  }
}

/** Returns the host at which a listener is reachable: loopback if the listener listens on all addresses. */
export function reachableHost({ host }: HostPort): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}

/** Returns the address at which a listener is reachable. */
export function reachable(at: HostPort): string {
  return formatHostPort({ host: reachableHost(at), port: at.port });
}

async function listenOn({ host, port }: HostPort): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const server = createServer();
    try {
      await once(server.listen(port || randomInt(PORTS.from, PORTS.to), host), "listening");
      return server;
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (port !== 0 || !taken || tries === MOST_TRIES) throw error;
    }
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function giveBack(server: Server): Promise<void> {
  await once(server.close(), "close");
}

async function take(name: Listener, at: HostPort, patienceMs: number, signal: AbortSignal): Promise<Server> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await listenOn(at);
    } catch (error) {
      signal.throwIfAborted();
      const { code = "" } = error as NodeJS.ErrnoException;
      if (code !== "EADDRINUSE" || performance.now() > end) {
        const other = at.port > 50_000 ? at.port - 10_000 : at.port + 10_000;
        throw new StartFault(
          `${name}: ${formatHostPort(at)} ${WHY[code] ?? `cannot be used (${code})`}. ` +
            `Set another address, such as ${name}=127.0.0.1:${other}, and start again.`,
          true,
        );
      }
      await sleep(LOOK_EVERY_MS);
    }
  }
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use by another program",
  EACCES: "requires root privileges",
  EADDRNOTAVAIL: "is not an address of this machine",
  ENOTFOUND: "is not an address of this machine",
};
