import { shardOf } from "../../core/domain/shard";
import type { LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import type { Behaviour } from "./behaviours";
import { connectToCore, type CoreClients } from "./core-clients";
import { startNames, type TestNames } from "./names";
import { startCore } from "./processes";
import { deliveriesOf, pushEnvironment } from "./push";
import { startReceiver, type ReceivedRequest, type Receiver } from "./receiver";
import { startTestRedis } from "./redis";
import { createTestCa } from "./test-ca";
import { until } from "./wait";
import { createWorkspaceApi } from "./workspace-api";

const NAME = "bridge.test";
const SHARDS = 16;
const CORES_MAX = 3;

/** Several cores on one Redis, and one bridge for many workspaces. */
export type PushCores = Awaited<ReturnType<typeof startPushCores>>;
/** A core that finds the bridge at an address of its own, so that the address shows which core made an attempt. */
export type NumberedCore = Awaited<ReturnType<PushCores["start"]>>;

export async function startPushCores() {
  const ca = createTestCa();
  const certificate = ca.issue([NAME]);
  const redis = await startTestRedis();
  const receivers: Receiver[] = [];
  for (let number = 1; number <= CORES_MAX; number++) {
    const port = receivers[0]?.port ?? 0;
    receivers.push(await startReceiver({ host: `127.0.0.${number}`, port, certificate, names: [NAME] }));
  }
  const names: TestNames[] = [];
  const cores: Awaited<ReturnType<typeof startNumbered>>[] = [];

  async function startNumbered({ host: address, requests }: Receiver) {
    const server = await startNames({ [NAME]: [address] });
    names.push(server);
    const process = await startCore(redis.url, pushEnvironment(ca, server.server));
    return { process, clients: connectToCore(process.port), address, requests };
  }
  return {
    redisUrl: redis.url,
    /** Starts the next core. */
    async start() {
      const receiver = receivers[cores.length];
      if (receiver === undefined) throw new Error(`there are at most ${CORES_MAX} cores`);
      const core = await startNumbered(receiver);
      cores.push(core);
      return core;
    },
    /** Workspaces, each on a shard of its own, that push to the bridge. */
    async makeWorkspaces({ clients }: { readonly clients: CoreClients }): Promise<readonly string[]> {
      const api = createWorkspaceApi(clients.workspaces);
      const byShard = new Map<number, string>();
      while (byShard.size < SHARDS) {
        const { id } = await api.make({ targetUrl: receivers[0]?.url ?? "" });
        byShard.set(shardOf(id, SHARDS), id);
      }
      return [...byShard.values()];
    },
    /** Everything that was pushed, by whichever core. */
    requests: () => receivers.flatMap((receiver) => receiver.requests),
    behave(how: Behaviour | ((request: ReceivedRequest) => Behaviour)) {
      for (const receiver of receivers) receiver.behave(how);
    },
    async close() {
      for (const { clients } of cores) clients.close();
      await Promise.all(cores.map(({ process }) => process.stop("SIGKILL")));
      await Promise.all([...receivers, ...names].map((each) => each.close()));
      await redis.close();
      ca.close();
    },
  };
}

/** An event of a workspace. */
export interface Sent {
  readonly workspaceId: string;
  readonly eventId: string;
}

/** Waits until so many lines were logged of each event, and answers what they say of take-overs, oldest first. */
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
