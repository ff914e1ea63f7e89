import { connectCluster } from "./cluster";
import { createConnector, type Connect, type ConnectorOptions, type Redis } from "./connection";
import { connectSentinel } from "./sentinel";
import { nameOf, parseRedisUrl, type RedisTarget } from "./url";

export type { Argument, Redis, Reply } from "./connection";

export interface RedisOptions extends ConnectorOptions {
  /** A URL in a form that `parseRedisUrl` accepts. */
  readonly url: string;
}

const SAME_ERROR_EVERY_MS = 3_000;

/**
 * Connects to Redis, and waits until the connection is ready. Reconnects automatically until `close` is called. Calls
 * `onError` at most once every three seconds for the same message.
 */
export function connectRedis({ url, ...options }: RedisOptions): Promise<Redis> {
  const target = parseRedisUrl(url);
  const toldAt = new Map<string, number>();
  const onError = (error: Error): void => {
    const now = performance.now();
    if (now - (toldAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    toldAt.set(error.message, now);
    options.onError(error);
  };
  const connect = createConnector({ ...options, onError });
  switch (target.kind) {
    case "server":
      return connectServer(target, connect);
    case "sentinel":
      return connectSentinel(target, { connect, onError });
    case "cluster":
      return connectCluster(target, { connect, onError });
  }
}

async function connectServer(
  { address, access }: Extract<RedisTarget, { kind: "server" }>,
  connect: Connect,
): Promise<Redis> {
  const commands = connect(address, { access, reconnects: true, for: "commands" });
  const messages = connect(address, { access, reconnects: true, for: "messages" });
  await Promise.all([commands.connect(), messages.connect()]);
  return {
    isOneMaster: true,
    command: (_key, args) => commands.command(args),
    confirmed: (_key, args) => commands.confirmed(args),
    everywhere: async (args) => [{ server: nameOf(address), reply: await commands.command(args) }],
    subscribe: messages.subscribe,
    async close() {
      // All callers have already stopped, so the connections can be destroyed.
      for (const connection of [commands, messages]) connection.close();
    },
  };
}
