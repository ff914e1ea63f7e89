import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { FollowOpen, FollowRequest } from "../../proto/gen/chatbridge/v1/game";
import type { Consumer, Seen } from "../harness/consumer";
import { attemptsOf, idsOf, nack, typeIn, useFollowers } from "../harness/followers";
import { readMetrics } from "../harness/metrics";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();
const start = (open: Parameters<typeof FollowOpen.create>[0]): Consumer =>
  followers.start(service.clients, open);
const SECOND = { seconds: 1, nanos: 0 };
/** A deadline that is longer than one pause of 300 ms, even on a slow machine, but shorter than eight such pauses. */
const TWO_SECONDS = { seconds: 2, nanos: 0 };
let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await service.workspaces.make();
});

function extend(consumer: Consumer, ...seen: readonly Seen[]): void {
  consumer.say(FollowRequest.create({ say: { $case: "extend", value: { deliveryIds: idsOf(seen) } } }));
}

function deadLetter(consumer: Consumer, deliveryId: string, reason: string): void {
  consumer.say(FollowRequest.create({ say: { $case: "deadLetter", value: { deliveryId, reason } } }));
}

// time: ordering
test("while a game extends the ack deadline of an event, core does not redeliver the event", async () => {
  const consumer = await start({ group: followers.newGroup(), ackDeadline: TWO_SECONDS }).opened();
  await typeIn(service.url, workspace, "long");
  const seen = await consumer.sees(1);
  for (let i = 0; i < 8; i++) {
    await pause(300);
    extend(consumer, ...seen);
  }
  expect(attemptsOf(consumer.seen)).toEqual(["long/1"]);
  expect(attemptsOf(await consumer.sees(2))).toEqual(["long/1", "long/2"]);
});

// time: ordering
test("each event of a workspace is delivered once, even if a game needs longer than the ack deadline for all of them together", async () => {
  const consumer = await start({ group: followers.newGroup(), ackDeadline: TWO_SECONDS }).opened();
  const sent = Array.from({ length: 8 }, (_, i) => String(i));
  await typeIn(service.url, workspace, ...sent);
  for (const each of (await consumer.sees(8)).slice()) {
    await pause(300);
    consumer.ack(each);
  }
  await pause(300);
  expect(attemptsOf(consumer.seen)).toEqual(sent.map((text) => `${text}/1`));
});

// time: ordering
test("after a nack, core redelivers the event and the later events of its workspace in order, immediately or after a delay", async () => {
  const consumer = await start({ group: followers.newGroup() }).opened();
  await typeIn(service.url, workspace, "a", "b", "c");
  const [a, b] = await consumer.sees(3);
  if (a === undefined || b === undefined) throw new Error("unreachable");
  nack(consumer, undefined, b);
  expect(attemptsOf((await consumer.sees(5)).slice(3))).toEqual(["b/2", "c/2"]);
  const at = performance.now();
  nack(consumer, SECOND, a);
  // An event that arrives during the delay is delivered after the nacked events.
  await typeIn(service.url, workspace, "d");
  const again = (await consumer.sees(9)).slice(5);
  expect(performance.now() - at).toBeGreaterThan(950);
  expect(attemptsOf(again)).toEqual(["a/2", "b/3", "c/3", "d/1"]);
});

test("core does not redeliver a dead letter, but counts it, and logs its reason without control characters", async () => {
  const group = followers.newGroup();
  const consumer = await start({ group, ackDeadline: SECOND }).opened();
  await typeIn(service.url, workspace, "bad", "good");
  const [bad, good] = await consumer.sees(2);
  if (bad === undefined || good === undefined) throw new Error("unreachable");
  deadLetter(consumer, bad.id, "no such\n board");
  deadLetter(consumer, bad.id, "again");
  deadLetter(consumer, "0:1-0", "unknown");
  expect(attemptsOf((await consumer.sees(3)).slice(2))).toEqual(["good/2"]);
  consumer.ack(good);
  const fact = { msg: "a game gave up an event", workspaceId: workspace.id, group, attempt: 1 };
  const lines = service.core.log.filter((line) => line["group"] === group && "reason" in line);
  expect(lines).toEqual([expect.objectContaining({ ...fact, deliveryId: bad.id, reason: "no such board" })]);
  const metric = (await readMetrics(service.core)).get("chatbridge_core_follow_dead_letters_total");
  expect(JSON.stringify([...(metric?.values ?? [])])).toContain(group);
});

test.each<[string, FollowRequest["say"]]>([
  ["nack.delay", { $case: "nack", value: { deliveryIds: [], delay: { seconds: 600, nanos: 1 } } }],
  ["nack.delay", { $case: "nack", value: { deliveryIds: [], delay: { seconds: 0, nanos: -1 } } }],
  ["dead_letter.reason", { $case: "deadLetter", value: { deliveryId: "0:1-0", reason: "" } }],
  ["dead_letter.reason", { $case: "deadLetter", value: { deliveryId: "0:1-0", reason: " \t" } }],
  ["dead_letter.reason", { $case: "deadLetter", value: { deliveryId: "0:1-0", reason: "x".repeat(201) } }],
])("a request with an invalid %s is rejected with INVALID_ARGUMENT: %j", async (field, say) => {
  const consumer = await start({ group: followers.newGroup() }).opened();
  consumer.say(FollowRequest.create({ say }));
  const { code, details } = await consumer.ended();
  expect([code, details]).toEqual([status.INVALID_ARGUMENT, expect.stringContaining(field)]);
});

test("the reason of a dead letter can have 200 characters, even if each takes two UTF-16 code units", async () => {
  const consumer = await start({ group: followers.newGroup() }).opened();
  deadLetter(consumer, "0:1-0", "\u{1f3b2}".repeat(200));
  await typeIn(service.url, workspace, "x");
  await consumer.sees(1);
  expect(consumer.end).toBeUndefined();
});

function ownedBy({ said }: Consumer): readonly number[] {
  const owned = new Set<number>();
  for (const each of said) {
    if (each === "delivery") continue;
    for (const shard of each.lost) owned.delete(shard);
    for (const shard of each.gained) owned.add(shard);
  }
  return [...owned].toSorted((a, b) => a - b);
}

// time: ordering
test("with `assignments`, a stream gains a shard before its first delivery, and each shard belongs to only one of two streams", async () => {
  const group = followers.newGroup();
  const first = await start({ group, consumer: "a", assignments: true }).opened();
  first.ackAll();
  await typeIn(service.url, workspace, "x");
  await first.sees(1);
  expect(first.said[0]).not.toBe("delivery");
  await until("the first stream owns all shards", () => ownedBy(first).length === first.shards);
  const all = ownedBy(first);
  const second = await start({ group, consumer: "b", assignments: true }).opened();
  await until(
    "the second stream owns the shards that the first has lost",
    () => ownedBy(second).length > 0 && ownedBy(first).length + ownedBy(second).length === all.length,
  );
  expect([...ownedBy(first), ...ownedBy(second)].toSorted((a, b) => a - b)).toEqual(all);
  const silent = await start({ group: followers.newGroup() }).opened();
  await typeIn(service.url, workspace, "y");
  await silent.sees(1);
  expect(silent.said).toEqual(["delivery"]);
});
