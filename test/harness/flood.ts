import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

/** Number of connections that are opened at the same time: fewer than a listener's backlog can hold. */
const AT_ONCE = 100;

export type Flood = Awaited<ReturnType<typeof openFlood>>;

/**
 * Opens `count` connections from the local address `from`, in batches. Numbers the connections from 1, and sends
 * `bytesOf(number)` over each connection. The connections stay open until `end` is called.
 */
export async function openFlood(
  port: number,
  from: string,
  count: number,
  bytesOf: (number: number) => string | Buffer,
) {
  const sockets: Socket[] = [];
  let closed = 0;
  let answered = 0;
  async function open(): Promise<void> {
    const socket = connect({ host: "127.0.0.1", port, localAddress: from });
    const bytes = bytesOf(sockets.push(socket));
    socket.on("error", () => undefined).on("close", () => (closed += 1));
    socket.once("data", () => (answered += 1)).resume();
    // If the server rejects the connection, "close" can come before "connect".
    await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined);
    if (bytes.length > 0 && socket.writable) socket.write(bytes);
  }
  for (let left = count; left > 0; left -= AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, open));
  }
  return {
    /** Number of connections that the server has closed. */
    closed: (): number => closed,
    /** Number of connections on which the server has sent something. */
    answered: (): number => answered,
    end: (): void => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Starts a proxy that forwards connections to a loopback port. The proxy connects from the local address `from`. */
export async function forwardFrom(from: string, port: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: "127.0.0.1", port, localAddress: from });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => other.destroy());
    }
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
