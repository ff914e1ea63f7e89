import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

/**
 * Starts a TCP server that sends only `greeting` to each client, and never answers. `close` also closes the
 * connections.
 */
export async function startSilentServer(greeting = "") {
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    socket.on("error", () => undefined).write(greeting);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    /** Resolves when the first client has connected. */
    connected: once(server, "connection"),
    port: (server.address() as AddressInfo).port,
    close(): void {
      for (const socket of accepted) socket.destroy();
      server.close();
    },
  };
}
