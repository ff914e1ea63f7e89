import { shardOf } from "../../core/domain/shard";
import { ListDeliveriesRequest, type LoggedDelivery } from "../../proto/gen/chatbridge/v1/workspace";
import type { Behaviour } from "./behaviours";
import { startNames, type TestNames } from "./names";
import { startCore, type TestProcess } from "./processes";
import { pushEnvironment } from "./push";
import { startReceiver, type ReceivedRequest, type Receiver } from "./receiver";
import { startTestRedis } from "./redis";
import { call, connectToCore, type CoreClients } from "./service";
import { createTestCa } from "./test-ca";
import { until } from "./wait";
import { createWorkspaceApi } from "./workspace-api";

const NAME = "bridge.test";
const SHARDS = 16;
const CORES_MAX = 3;

/** A core that finds the bridge at an address of its own, so that it shows which core made an attempt. */
export interface NumberedCore {
  readonly process: TestProcess;
  readonly clients: CoreClients;
  /** Where it finds the bridge. */
  readonly address: string;
  /** What it pushed. */
  readonly requests: readonly ReceivedRequest[];
}

/** Several cores on one Redis, and one bridge for many workspaces. */
export interface PushCores {
  /** Starts the next core. */
  start(): Promise<NumberedCore>;
  /** Workspaces, each on a shard of its own, that push to the bridge. */
  makeWorkspaces({ clients }: NumberedCore): Promise<readonly string[]>;
  /** Everything that was pushed, by whichever core. */
  requests(): readonly ReceivedRequest[];
  readonly redisUrl: string;
  behave(behaviour: Behaviour | ((request: ReceivedRequest) => Behaviour)): void;
  close(): Promise<void>;
}

export async function startPushCores(): Promise<PushCores> {
  const ca = createTestCa();
  const certificate = ca.issue([NAME]);
  const redis = await startTestRedis();
  const names: TestNames[] = [];
  const receivers: Receiver[] = [];
  const cores: NumberedCore[] = [];
  for (let number = 1; number <= CORES_MAX; number++) {
    const host = `127.0.0.${number}`;
    const [first] = receivers;
    const at = first === undefined ? { host } : { host, port: first.port };
    receivers.push(await startReceiver({ ...at, certificate, names: [NAME] }));
  }
  return {
    redisUrl: redis.url,
    async start() {
      const receiver = receivers[cores.length];
      if (receiver === undefined) throw new Error("no more cores are provided for");
      const server = await startNames({ [NAME]: [receiver.host] });
      names.push(server);
      const process = await startCore(redis.url, pushEnvironment(ca, server.server));
      const clients = connectToCore(process.port);
      const core = { process, clients, address: receiver.host, requests: receiver.requests };
      cores.push(core);
      return core;
    },
    async makeWorkspaces({ clients }) {
      const api = createWorkspaceApi(clients.workspaces);
      const byShard = new Map<number, string>();
      while (byShard.size < SHARDS) {
        const { id } = await api.make({ targetUrl: receivers[0]?.urlOf(NAME) ?? "" });
        byShard.set(shardOf(id, SHARDS), id);
      }
      return [...byShard.values()];
    },
    requests: () => receivers.flatMap((receiver) => receiver.requests),
    behave(how) {
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

/** A line of the log, as far as take-overs are concerned. */
export type Line = Pick<LoggedDelivery, "attempt" | "result" | "address">;

/** Waits until so many lines were logged of each event, and answers them, oldest first. */
export function untilLogged(
  { clients: { workspaces } }: NumberedCore,
  events: readonly Sent[],
  lines: number,
): Promise<readonly (readonly Line[])[]> {
  const ids = [...new Set(events.map(({ workspaceId }) => workspaceId))];
  return until(`${lines} lines in the log of each of ${events.length} events`, async () => {
    const found = new Map<string, Line[]>(events.map(({ eventId }) => [eventId, []]));
    for (const workspaceId of ids) {
      const request = ListDeliveriesRequest.create({ workspaceId, pageSize: 1000 });
      const { deliveries } = await call(workspaces, workspaces.listDeliveries, request);
      for (const { eventId, attempt, result, address } of deliveries)
        found.get(eventId)?.unshift({ attempt, result, address });
    }
    const all = [...found.values()];
    return all.every((each) => each.length >= lines) && all;
  });
}
