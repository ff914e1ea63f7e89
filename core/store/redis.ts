import type { StoreMeter } from "../ports/store-meter";
import { connectCluster } from "./redis-cluster";
import { createConnector, type Connect, type Redis } from "./redis-connection";
import { connectSentinel } from "./redis-sentinel";
import { nameOf, parseRedisUrl, type RedisTarget } from "./redis-url";

export type { Argument, Redis, Reply } from "./redis-connection";

export interface RedisOptions {
  /** As parseRedisUrl reads it. */
  readonly url: string;
  /** A further root certificate for TLS, in PEM. */
  readonly ca?: Buffer | undefined;
  /** How many replicas must have what was written before `confirmed` answers. */
  readonly waitReplicas?: number;
  /** Told of connection errors, of each kind every few seconds at most. */
  onError(error: Error): void;
  readonly meter?: StoreMeter | undefined;
}

const SAME_ERROR_EVERY_MS = 3_000;

/** Connects, waiting until the first connection stands. Reconnects by itself until it is closed. */
export function connectRedis({ url, ca, waitReplicas = 0, ...options }: RedisOptions): Promise<Redis> {
  const target = parseRedisUrl(url);
  const toldAt = new Map<string, number>();
  const onError = (error: Error): void => {
    const now = performance.now();
    if (now - (toldAt.get(error.message) ?? -Infinity) < SAME_ERROR_EVERY_MS) return;
    toldAt.set(error.message, now);
    options.onError(error);
  };
  const connect = createConnector({ ca, waitReplicas, onError, meter: options.meter });
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
      // Whoever still waits has been told to stop; nothing is lost by cutting the connections.
      for (const connection of [commands, messages]) connection.close();
    },
  };
}
