import { setTimeout as sleep } from "node:timers/promises";
import { shardOf } from "../../core/domain/shard";
import { DeliveryResult } from "../../proto/gen/chatbridge/v1/workspace";
import { holdAnswers, type HeldAnswers } from "../harness/behaviours";
import { sharedPush, textEvents, type PushedBridge } from "../harness/push";
import { openTestStore, texts, type TestStore } from "../harness/store";
import { until } from "../harness/wait";

const { SUCCESS, STATUS, EXPIRED, DISCONNECTED, POLLS } = DeliveryResult;
const SHARDS = 16;

const push = sharedPush();
let store: TestStore;
beforeAll(async () => {
  store = await openTestStore(push.service.redis.url);
});
afterAll(() => store.close());

/** Why core said that it dropped so many events of a workspace, one for each. */
async function reasons({ workspaceId }: PushedBridge, count: number): Promise<readonly unknown[]> {
  return (await push.givenUp(workspaceId, count)).map(({ reason }) => reason);
}

/** A bridge that has taken so many requests, which wait for their answers. */
async function busyBridge(requests: number): Promise<PushedBridge & { readonly held: HeldAnswers }> {
  const [bridge, held] = [await push.bridge(), holdAnswers()];
  bridge.behave(held);
  await push.publish(...textEvents(bridge.workspaceId, requests));
  await bridge.waitFor(requests);
  return { ...bridge, held };
}

/** Waits until nothing is queued in the shards of these bridges, nor attempts noted. */
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
test("a failed event is dropped, and the log says why, when its workspace is changed before the retry", async () => {
  const [disconnected, polling, deleted] = await Promise.all([busyBridge(1), busyBridge(1), busyBridge(1)]);
  await push.workspaces.disconnect(disconnected.workspaceId);
  await push.workspaces.setTargetUrl(polling.workspaceId, "");
  await push.workspaces.delete(deleted.workspaceId);
  for (const { held } of [disconnected, polling, deleted]) held.release(500);
  for (const [bridge, result] of [
    [disconnected, DISCONNECTED],
    [polling, POLLS],
  ] as const) {
    expect(await push.logged(bridge.workspaceId, 2)).toMatchObject([
      { attempt: 1, result: STATUS, status: 500 },
      { attempt: 1, result, status: 0, address: "" },
    ]);
  }
  const bridges = [disconnected, polling, deleted];
  expect(await Promise.all(bridges.map((bridge) => reasons(bridge, 1)))).toEqual([
    ["disconnected"],
    ["polls"],
    ["disconnected"],
  ]);
  expect(bridges.map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  // A drop is no attempt.
  await push.workspaces.connect(disconnected.workspaceId);
  const [failure] = await push.deliveries(disconnected.workspaceId);
  expect(await push.health(disconnected.workspaceId)).toMatchObject({
    lastSuccess: undefined,
    lastFailure: failure,
    attempts: 1,
    successes: 0,
  });
  await expectQueuesEmpty(...bridges);
  expect(await texts(store, "KEYS", `*${deleted.workspaceId}*`)).toEqual([]);
});

// time: ordering
test("an event that was not tried is dropped when its workspace is disconnected or deleted, or it has expired", async () => {
  // As many as may be in flight; four more wait.
  const bridges = await Promise.all([busyBridge(16), busyBridge(16), busyBridge(16)]);
  const [disconnected, deleted, expired] = bridges;
  for (const { workspaceId } of bridges) {
    const lifetime = workspaceId === expired.workspaceId ? { lifetime: { seconds: 1 } } : {};
    await push.publish(...textEvents(workspaceId, 4).map((event) => ({ ...event, ...lifetime })));
  }
  await push.workspaces.disconnect(disconnected.workspaceId);
  await push.workspaces.delete(deleted.workspaceId);
  // By then first attempts read their workspace again, too, as they do after 50 ms.
  await sleep(1_000);
  for (const { held } of bridges) held.release(204);
  for (const [bridge, result] of [
    [disconnected, DISCONNECTED],
    [expired, EXPIRED],
  ] as const) {
    const log = await push.logged(bridge.workspaceId, 20);
    // What was under way at the change was finished.
    expect(log.filter((line) => line.attempt === 1 && line.result === SUCCESS)).toHaveLength(16);
    expect(log.filter((line) => line.attempt === 0 && line.result === result)).toHaveLength(4);
  }
  expect(await Promise.all(bridges.map((bridge) => reasons(bridge, 4)))).toEqual([
    Array(4).fill("disconnected"),
    Array(4).fill("disconnected"),
    Array(4).fill("expired"),
  ]);
  expect(bridges.map(({ requests }) => requests.length)).toEqual([16, 16, 16]);
});
