import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";

/**
 * Below the ports that systems use for outgoing connections: such a port could be
 * taken between the check and its use.
 */
const PORTS = { from: 20_000, to: 30_000 };
const MOST_TRIES = 20;

/** Listens on a port, or on any free port if `port` is 0. Rejects with the system's error. */
export async function listenOn(host: string, port: number): Promise<Server> {
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

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Stops listening; resolves when the port is free again. */
export async function giveBack(server: Server): Promise<void> {
  await once(server.close(), "close");
}
