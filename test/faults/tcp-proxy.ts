import { connect, createServer, type AddressInfo, type NetConnectOpts, type Socket } from "node:net";

/** A proxy on a port of loopback whose manners a test chooses. */
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

export async function startTcpProxy(target: NetConnectOpts) {
  const open = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let delayMs = 0;
  let toCut = 0;

  const server = createServer((near) => {
    const far = connect(target);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    const replies: Buffer[] = [];
    /** Whichever timer is first takes the oldest reply, so that a shorter delay reorders nothing. */
    function replyLater(chunk: Buffer): void {
      replies.push(chunk);
      const timer = setTimeout(() => {
        timers.delete(timer);
        const oldest = replies.shift();
        if (oldest !== undefined && near.writable) near.write(oldest);
      }, delayMs);
      timers.add(timer);
    }
    near.on("data", (chunk) => void far.write(chunk));
    far.on("data", (chunk: Buffer) => {
      if (toCut > 0 && chunk.length > 1) {
        toCut -= 1;
        near.write(chunk.subarray(0, chunk.length >> 1), () => near.destroy());
        return;
      }
      replyLater(chunk);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  /** Ends every connection at once, as the death of either side does. */
  const dropAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    /** Holds every reply back for so long. */
    delay: (ms: number) => void (delayMs = ms),
    /** Cuts so many of the replies to come in the middle, and the connection with them. */
    cutReplies: (count: number) => void (toCut = count),
    /** How many replies are still to be cut. */
    toCut: () => toCut,
    dropAll,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      const closed = new Promise((resolve) => server.close(resolve));
      dropAll();
      await closed;
    },
  };
}
