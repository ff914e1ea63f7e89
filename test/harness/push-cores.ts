import { shardOf } from "../../core/domain/shard";
import type { LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import type { Behaviour } from "./behaviours";
import { connectToCore } from "./core-clients";
import { startNames, type TestNames } from "./names";
import { startCore } from "./processes";
import { deliveriesOf, pushEnvironment } from "./push";
import { startReceiver, type ReceivedRequest } from "./receiver";
import { startTestRedis } from "./redis";
import { createTestCa } from "./test-ca";
import { until } from "./wait";
import { createWorkspaceApi } from "./workspace-api";

const NAME = "bridge.test";
const SHARDS = 16;
/** Two cores on one Redis, and one bridge for many workspaces. */
export type PushCores = Awaited<ReturnType<typeof startPushCores>>;
/**
 * One of the two cores. Each core resolves the bridge's name to a different address, so the address of an attempt shows
 * which core made the attempt.
 */
export type NumberedCore = PushCores["first"];

export async function startPushCores() {
  const ca = createTestCa();
  const certificate = ca.issue([NAME]);
  const redis = await startTestRedis();
  const names: TestNames[] = [];

  async function start(host: string, port?: number) {
    const receiver = await startReceiver({ host, certificate, names: [NAME], ...(port && { port }) });
    const server = await startNames({ [NAME]: [host] });
    names.push(server);
    const process = await startCore(redis.url, pushEnvironment(ca, server.server));
    const clients = connectToCore(process.port);
    return { process, clients, address: host, requests: receiver.requests, receiver };
  }
  const first = await start("127.0.0.1");
  const second = await start("127.0.0.2", first.receiver.port);
  const both = [first, second];
  return {
    redisUrl: redis.url,
    first,
    second,
    /**
     * Creates workspaces with the bridge's URL until each shard has one. Returns one workspace id for each shard.
     */
    async makeWorkspaces(): Promise<readonly string[]> {
      const api = createWorkspaceApi(second.clients.workspaces);
      const byShard = new Map<number, string>();
      while (byShard.size < SHARDS) {
        const { id } = await api.make({ targetUrl: first.receiver.url });
        byShard.set(shardOf(id, SHARDS), id);
      }
      return [...byShard.values()];
    },
    /** Returns the pushes of both cores. */
    requests: () => both.flatMap(({ requests }) => requests),
    behave(how: Behaviour | ((request: ReceivedRequest) => Behaviour)) {
      for (const { receiver } of both) receiver.behave(how);
    },
    async close() {
      for (const { clients } of both) clients.close();
      await Promise.all(both.map(({ process }) => process.stop("SIGKILL")));
      await Promise.all([...both.map(({ receiver }) => receiver), ...names].map((each) => each.close()));
      await redis.close();
      ca.close();
    },
  };
}

export interface Sent {
  readonly workspaceId: string;
  readonly eventId: string;
}

/**
 * Waits until the delivery logs have `lines` lines for each event. Returns the attempt, result and address of each
 * line, oldest first.
 */
export function untilLogged(
  { clients }: Pick<NumberedCore, "clients">,
  events: readonly Sent[],
  lines: number,
) {
  const ids = [...new Set(events.map(({ workspaceId }) => workspaceId))];
  return until(`${lines} lines in the log of each of ${events.length} events`, async () => {
    const log = (await Promise.all(ids.map((id) => deliveriesOf(clients, id)))).flat();
    const line = ({ attempt, result, address }: LoggedDelivery) => ({ attempt, result, address });
    const all = events.map(({ eventId }) => log.filter((each) => each.eventId === eventId).map(line));
    return all.every((each) => each.length >= lines) && all;
  });
}
