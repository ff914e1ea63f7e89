import { setTimeout as sleep } from "node:timers/promises";
import { shardOf } from "../../core/domain/shard";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { holdAnswers, type HeldAnswers } from "../harness/behaviours";
import { sharedPush, textEvents, type PushedBridge } from "../harness/push";
import { testStore, texts } from "../harness/store";
import { until } from "../harness/wait";

const { SUCCESS, STATUS, EXPIRED, DISCONNECTED } = DeliveryResult;
const SHARDS = 16;

const push = sharedPush();
const store = testStore({ redisUrl: push.service.redis.url });

/** Returns the reasons that core logs for `count` dropped events of a workspace. */
async function reasons({ workspaceId }: PushedBridge, count: number): Promise<readonly unknown[]> {
  return (await push.givenUp(workspaceId, count)).map(({ reason }) => reason);
}

/** Returns a bridge with 16 unanswered requests, the maximum per workspace at a time. Four more events wait. */
async function busyBridge(lifetime = {}): Promise<PushedBridge & { readonly held: HeldAnswers }> {
  const [bridge, held] = [await push.bridge(), holdAnswers()];
  bridge.behave(held);
  await push.publish(...textEvents(bridge.workspaceId, 16));
  await bridge.waitFor(16);
  await push.publish(...textEvents(bridge.workspaceId, 4).map((event) => ({ ...event, ...lifetime })));
  return { ...bridge, held };
}

/** Waits until the shards of these bridges have no queued events and no recorded attempts. */
async function expectQueuesEmpty(...bridges: readonly PushedBridge[]): Promise<void> {
  for (const { workspaceId } of bridges) {
    const prefix = `cb:{s${shardOf(workspaceId, SHARDS)}}`;
    const length = (command: string, key: string) => store.redis.command(key, [command, key]);
    await until(
      "the queue is empty",
      async () =>
        (await length("XLEN", `${prefix}:push`)) === 0 && (await length("HLEN", `${prefix}:tries`)) === 0,
    );
  }
}

// time: ordering
test("an event is dropped with a logged reason if it expires, or if its workspace is disconnected or deleted before an attempt", async () => {
  const bridges = await Promise.all([busyBridge(), busyBridge(), busyBridge({ lifetime: { seconds: 1 } })]);
  const [disconnected, deleted, expired] = bridges;
  await push.workspaces.disconnect(disconnected.workspaceId);
  await push.workspaces.delete(deleted.workspaceId);
  // Core uses a cached workspace for 50 ms at most, so after the sleep, the first attempts of the waiting events read
  // their workspace again.
  await sleep(1_000);
  // The attempts of the first 16 events now fail. If the workspaces were still connected, core would retry these
  // events.
  for (const { held } of [disconnected, deleted]) held.release(500);
  expired.held.release(204);
  const lines = async ({ workspaceId }: PushedBridge, count: number) =>
    (await push.logged(workspaceId, count)).map(({ attempt, result }) => `${attempt} ${result}`).toSorted();
  expect(await lines(disconnected, 36)).toEqual(
    [
      ...Array<string>(16).fill(`1 ${STATUS}`),
      ...Array<string>(16).fill(`1 ${DISCONNECTED}`),
      ...Array<string>(4).fill(`0 ${DISCONNECTED}`),
    ].toSorted(),
  );
  expect(await lines(expired, 20)).toEqual(
    [...Array<string>(16).fill(`1 ${SUCCESS}`), ...Array<string>(4).fill(`0 ${EXPIRED}`)].toSorted(),
  );
  expect(await reasons(disconnected, 20)).toEqual(Array(20).fill("disconnected"));
  expect(await reasons(deleted, 20)).toEqual(Array(20).fill("disconnected"));
  expect(await reasons(expired, 4)).toEqual(Array(4).fill("expired"));
  expect(bridges.map(({ requests }) => requests.length)).toEqual([16, 16, 16]);
  // A drop does not count as an attempt.
  await push.workspaces.connect(disconnected.workspaceId);
  const failures = (await push.deliveries(disconnected.workspaceId)).filter(
    ({ result }) => result === STATUS,
  );
  expect(await push.health(disconnected.workspaceId)).toMatchObject({
    lastSuccess: undefined,
    lastFailure: failures.at(-1),
    attempts: 16,
    successes: 0,
  });
  await expectQueuesEmpty(...bridges);
  expect(await texts(store, "KEYS", `*${deleted.workspaceId}*`)).toEqual([]);
});
