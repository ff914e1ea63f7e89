import { credentials } from "@grpc/grpc-js";
import { shardOf } from "../../core/domain/shard";
import { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import type { Behaviour } from "../harness/behaviours";
import { published } from "../harness/contents";
import { connectToCore } from "../harness/core-clients";
import { startNames } from "../harness/names";
import { freePort, startCore, type TestProcess } from "../harness/processes";
import { eventIdOf, pushEnvironment } from "../harness/push";
import { untilLogged, type Sent } from "../harness/push-cores";
import { startReceiver } from "../harness/receiver";
import { startTestRedis } from "../harness/redis";
import { publish, textEvent } from "../harness/service";
import { watchLeases } from "../harness/shard-leases";
import { createTestCa } from "../harness/test-ca";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

const NAME = "bridge.test";
const SHARDS = 16;
const CORES = 4;
const PUBLISH_EVERY_MS = 500;
/**
 * Milliseconds until the bridge answers a push: longer than a core relies on its lease, but shorter than the timeout of
 * a push.
 */
const ANSWER_MS = [2_800, 3_000, 3_200] as const;

/**
 * Returns a bridge behaviour that answers each request with 204 after `ANSWER_MS`. Also returns the count of
 * unanswered requests.
 */
function answerSlowly() {
  let [unanswered, count] = [0, 0];
  const behaviour: Behaviour = {
    answer({ response }) {
      unanswered += 1;
      count += 1;
      const timer = setTimeout(() => response.writeHead(204).end(), ANSWER_MS[count % ANSWER_MS.length]);
      response.once("close", () => {
        clearTimeout(timer);
        unanswered -= 1;
      });
    },
  };
  return { behaviour, unanswered: () => unanswered };
}

/** Publishes an event to each workspace every `PUBLISH_EVERY_MS`. `stop` returns all published events. */
function startPublishing(games: GameServiceClient, workspaceIds: readonly string[]) {
  const clients = { games } as ReturnType<typeof connectToCore>;
  const calls: Promise<readonly Sent[]>[] = [];
  const publishAll = async (text: string): Promise<readonly Sent[]> => {
    const results = await publish(clients, ...workspaceIds.map((id) => textEvent(id, text)));
    return results.map((result, i) => ({
      workspaceId: workspaceIds[i] ?? "",
      eventId: published(result).eventId,
    }));
  };
  const timer = setInterval(() => calls.push(publishAll(`call ${calls.length}`)), PUBLISH_EVERY_MS);
  return {
    async stop(): Promise<readonly Sent[]> {
      clearInterval(timer);
      return (await Promise.all(calls)).flat();
    },
  };
}

// time: ordering
test("while four cores are replaced one after another, a bridge that answers after about 3 seconds gets each push once", async () => {
  const closers: (() => unknown)[] = [];
  const cores: TestProcess[] = [];
  try {
    const ca = createTestCa();
    closers.unshift(() => ca.close());
    const redis = await startTestRedis();
    closers.unshift(() => redis.close());
    const names = await startNames({ [NAME]: ["127.0.0.1"] });
    closers.unshift(() => names.close());
    const receiver = await startReceiver({ certificate: ca.issue([NAME]), names: [NAME] });
    closers.unshift(() => receiver.close());
    closers.unshift(() => Promise.all(cores.map((core) => core.stop("SIGKILL"))));
    const bridge = answerSlowly();
    receiver.behave(bridge.behaviour);
    const ports = await Promise.all(Array.from({ length: 2 * CORES }, freePort));
    const startNext = async (): Promise<void> => {
      const listen = { CORE_LISTEN: `127.0.0.1:${ports[cores.length]}` };
      cores.push(await startCore(redis.url, { ...pushEnvironment(ca, names.server), ...listen }));
    };
    for (let i = 0; i < CORES; i++) await startNext();
    const leases = await watchLeases(redis.url);
    closers.unshift(() => leases.close());
    await leases.untilShared(CORES);

    const setup = connectToCore(ports[0] ?? 0);
    const api = createWorkspaceApi(setup.workspaces);
    const byShard = new Map<number, string>();
    while (byShard.size < SHARDS) {
      const { id } = await api.make({ targetUrl: receiver.url });
      byShard.set(shardOf(id, SHARDS), id);
    }
    setup.close();
    const games = new GameServiceClient(
      `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(",")}`,
      credentials.createInsecure(),
      {
        "grpc.max_reconnect_backoff_ms": 1_000,
        "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      },
    );
    closers.unshift(() => games.close());
    const publishing = startPublishing(games, [...byShard.values()]);
    closers.unshift(() => publishing.stop());

    const shared = new Set(await leases.holders());
    for (const [place, core] of cores.slice(0, CORES).entries()) {
      await until("pushes of most shards are in progress", () => bridge.unanswered() >= SHARDS);
      // Half of the cores stop after their successors have started, as in deploy/compose/roll.sh and the Helm chart.
      const isReplacedFirst = place % 2 === 0;
      if (isReplacedFirst) await startNext();
      expect(await core.stop()).toBe(0);
      if (!isReplacedFirst) await startNext();
    }
    const now = await leases.untilShared(CORES);
    expect([...now.keys()].filter((token) => shared.has(token))).toEqual([]);

    const sent = await publishing.stop();
    const last = connectToCore(ports.at(-1) ?? 0);
    closers.unshift(() => last.close());
    const logged = await untilLogged({ clients: last }, sent, 1);
    const pushes = new Map<string, number>();
    for (const request of receiver.requests) {
      const eventId = eventIdOf(request);
      pushes.set(eventId, (pushes.get(eventId) ?? 0) + 1);
    }
    expect(sent.filter(({ eventId }) => pushes.get(eventId) !== 1)).toEqual([]);
    expect(pushes.size).toBe(sent.length);
    const first = { attempt: 1, result: DeliveryResult.SUCCESS, address: "127.0.0.1" };
    expect(logged).toEqual(sent.map(() => [first]));
  } finally {
    for (const close of closers) await close();
  }
});
