import { connect, createServer, type AddressInfo, type NetConnectOpts, type Socket } from "node:net";

/** A proxy on a loopback port. A test can delay replies, truncate replies, or close all connections. */
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
    /** Each timer sends the oldest reply, so that replies stay in order when the delay gets shorter. */
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
  /** Closes every connection abruptly, as a crash of either side would. */
  const dropAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    /** Delays every reply by `ms`. */
    delay: (ms: number) => void (delayMs = ms),
    /** Truncates the next `count` replies, and closes their connections. */
    cutReplies: (count: number) => void (toCut = count),
    /** The number of replies that are still to be truncated. */
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
