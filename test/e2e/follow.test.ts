import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { post } from "../harness/bridge";
import type { Consumer, Seen } from "../harness/consumer";
import { attemptsOf, typeIn, useFollowers } from "../harness/followers";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();
const start = (open: Parameters<typeof FollowOpen.create>[0]): Consumer =>
  followers.start(service.clients, open);
let workspaces: readonly TestWorkspace[];
beforeAll(async () => {
  workspaces = await Promise.all(Array.from({ length: 8 }, () => service.workspaces.make()));
});

const workspace = (i = 0): TestWorkspace => workspaces[i] ?? { id: "", secret: "" };
const typeHere = (...texts: readonly string[]): Promise<void> => typeIn(service.url, workspace(), ...texts);

/** Waits until an event that is typed now has come to another group. */
async function laterOnesCame(): Promise<void> {
  const witness = await start({ group: followers.newGroup() }).opened();
  await typeIn(service.url, workspace(7), "later");
  await witness.sees(1);
}

// time: ordering
test("a delivery carries the event as the bridge sent it, with its workspace and when it was stored", async () => {
  const consumer = await start({ group: followers.newGroup() }).opened();
  const before = Date.now();
  await post(service.url, workspace(), {
    id: "request-1",
    type: "message",
    channel: { id: "c1", name: "general" },
    user: { id: "u1", name: "Ann" },
    text: "hello",
    replyTo: "msg_1",
  });
  const [delivery] = await consumer.sees(1);
  expect(delivery?.id).toMatch(/^\d+:\d+-\d+$/);
  expect(delivery?.received).toEqual({
    workspaceId: workspace().id,
    receivedAt: expect.any(Date) as Date,
    event: {
      id: "request-1",
      channel: { id: "c1", name: "general" },
      user: { id: "u1", name: "Ann" },
      kind: { $case: "message", value: { text: "hello", replyTo: "msg_1" } },
    },
  });
  const receivedAt = delivery?.received.receivedAt?.getTime() ?? 0;
  expect(receivedAt).toBeGreaterThanOrEqual(before - 5);
  expect(receivedAt).toBeLessThanOrEqual(Date.now() + 5);
});

test("a group sees the events from its first opening on", async () => {
  const group = followers.newGroup();
  await typeHere("before");
  const first = await start({ group }).opened();
  await typeHere("after");
  expect(attemptsOf(await first.sees(1))).toEqual(["after/1"]);
  first.ack(...first.seen);
  first.halfClose();
  await first.ended();
  await typeHere("meanwhile");
  expect(attemptsOf(await start({ group }).sees(1))).toEqual(["meanwhile/1"]);
});

// time: ordering
test("the events of a workspace come in order, each to one consumer of each group", async () => {
  const groups = await Promise.all(
    [followers.newGroup(), followers.newGroup()].map((group) =>
      Promise.all(["a", "b"].map((consumer) => start({ group, consumer }).opened())),
    ),
  );
  for (const consumer of groups.flat()) consumer.ackAll();
  const sent = Array.from({ length: 20 }, (_, i) => String(i));
  await Promise.all(workspaces.map((each) => typeIn(service.url, each, ...sent)));
  const total = sent.length * workspaces.length;

  for (const group of groups) {
    const seen = (): readonly Seen[] =>
      group.flatMap((consumer) => consumer.seen).filter(({ text }) => text !== "later");
    await until("the group has all", () => seen().length >= total);
    await laterOnesCame();
    expect(seen()).toHaveLength(total);
    for (const { id } of workspaces) {
      // Whichever consumer had the shard when, the first event comes first.
      const parts = group.map((consumer) =>
        consumer.seen
          .filter(({ workspaceId, text }) => workspaceId === id && text !== "later")
          .map(({ text }) => Number(text)),
      );
      for (const part of parts) expect(part).toEqual(part.toSorted((a, b) => a - b));
      expect(parts.flat().toSorted((a, b) => a - b)).toEqual(sent.map(Number));
    }
  }
});

// time: ordering
test("no more unacked events are out than the window has room for, and acks make room", async () => {
  const consumer = await start({ group: followers.newGroup(), window: 3 }).opened();
  await Promise.all([0, 1, 2, 3].map((i) => typeIn(service.url, workspace(i), "a", "b", "c")));
  await consumer.sees(3);
  await laterOnesCame();
  for (let acked = 0; acked < 12; acked++) {
    expect(consumer.seen).toHaveLength(Math.min(12, acked + 3));
    consumer.ack(...consumer.seen.slice(acked, acked + 1));
    await consumer.sees(Math.min(12, acked + 4));
  }
  expect(new Set(consumer.seen.map(({ id }) => id)).size).toBe(12);
});

// time: smoke
test("an event that is not acked is delivered again after the ack deadline, but not to a group that acked it", async () => {
  const acking = await start({ group: followers.newGroup() }).opened();
  const silent = await start({ group: followers.newGroup(), ackDeadline: { seconds: 1 } }).opened();
  acking.ackAll();
  await typeHere("one");
  const [first, again] = await silent.sees(2);
  expect(attemptsOf(silent.seen.slice(0, 2))).toEqual(["one/1", "one/2"]);
  expect(again?.id).toBe(first?.id);
  expect(attemptsOf(acking.seen)).toEqual(["one/1"]);
});

test("an event that is not acked is delivered again to the next stream when its stream is dropped", async () => {
  const group = followers.newGroup();
  const first = await start({ group, window: 2 }).opened();
  await typeHere("one", "two", "three");
  first.ack(...(await first.sees(2)).slice(0, 1));
  // The third comes when the ack has.
  await first.sees(3);
  first.cancel();
  const second = start({ group, consumer: "another" });
  expect(attemptsOf(await second.sees(2))).toEqual(["two/2", "three/2"]);
  second.cancel();
  const third = start({ group });
  expect(attemptsOf(await third.sees(2))).toEqual(["two/3", "three/3"]);
});

test("unknown delivery ids in an ack are ignored", async () => {
  const consumer = await start({ group: followers.newGroup() }).opened();
  consumer.ack({ id: "" }, { id: "nonsense" }, { id: "99:1-0" }, { id: "0:99999999999999999999-0" });
  consumer.ack(...Array.from({ length: 9_000 }, (_, i) => ({ id: `0:${i + 1}-0` })));
  await typeHere("one");
  const [one] = await consumer.sees(1);
  consumer.ack(...(one === undefined ? [] : [one, one]));
  await typeHere("two");
  expect(attemptsOf(await consumer.sees(2))).toEqual(["one/1", "two/1"]);
  expect(consumer.end).toBeUndefined();
});
