import { Cluster } from "./cluster";
import {
  createConnector,
  type Argument,
  type Connect,
  type ConnectorOptions,
  type Redis,
} from "./connection";
import { WatchedMaster } from "./sentinel";
import { nameOf, parseRedisUrl, type RedisTarget } from "./url";

export type { Argument, Redis, Reply } from "./connection";

export interface RedisOptions extends ConnectorOptions {
  /** A URL in a form that `parseRedisUrl` accepts. */
  readonly url: string;
}

/** Connects to Redis, and waits until the connection is ready. Reconnects automatically until `close` is called. */
export function connectRedis({ url, ...options }: RedisOptions): Promise<Redis> {
  const target = parseRedisUrl(url);
  const connect = createConnector(options);
  switch (target.kind) {
    case "server":
      return connectServer(target, connect);
    case "sentinel":
      return new WatchedMaster(target, { ...options, connect }).start();
    case "cluster":
      return new Cluster(target, { ...options, connect }).start();
  }
}

async function connectServer(
  { address, access }: Extract<RedisTarget, { kind: "server" }>,
  connect: Connect,
): Promise<Redis> {
  const commands = connect(address, { access, reconnects: true, for: "commands" });
  const messages = connect(address, { access, reconnects: true, for: "messages" });
  await Promise.all([commands.connect(), messages.connect()]);
  const server = nameOf(address);
  const toServer = async (args: readonly Argument[]) => [{ server, reply: await commands.command(args) }];
  return {
    isOneMaster: true,
    command: (_key, args) => commands.command(args),
    confirmed: (_key, args) => commands.confirmed(args),
    entries: (_key, args) => commands.entries(args),
    everywhere: async (args, except) => (except?.has(server) === true ? [] : toServer(args)),
    whereAvailable: (args) => toServer(args).catch(() => []),
    subscribe: messages.subscribe,
    async close() {
      // All callers have already stopped, so the connections can be destroyed.
      for (const connection of [commands, messages]) connection.close();
    },
  };
}
