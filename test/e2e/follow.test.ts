import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { post } from "../harness/bridge";
import { startConsumer, type, type Consumer, type Seen } from "../harness/consumer";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
let workspaces: readonly TestWorkspace[];
let groups = 0;
const open = new Set<Consumer>();

beforeAll(async () => {
  workspaces = await Promise.all(Array.from({ length: 8 }, () => createWorkspace(service.clients)));
});
afterEach(() => {
  for (const consumer of open) consumer.cancel();
  open.clear();
});

const newGroup = (): string => `group-${++groups}`;

function workspace(i = 0): TestWorkspace {
  const found = workspaces[i];
  if (found === undefined) throw new RangeError(`no workspace ${i}`);
  return found;
}

function start(how: Parameters<typeof FollowOpen.create>[0]): Consumer {
  const consumer = startConsumer(service.clients.games, how);
  open.add(consumer);
  return consumer;
}

/** Types messages in a workspace, one after the other. */
async function typeIn(to: TestWorkspace, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect(await type(service.url, to, text)).toBe(true);
}

const texts = (seen: readonly Seen[]): readonly string[] =>
  seen.map(({ text, attempt }) => `${text}/${attempt}`);

/** Waits for as long as an event that is not to come would need, on a consumer of another group. */
async function pastThis(): Promise<void> {
  const witness = await start({ group: newGroup() }).opened();
  await typeIn(workspace(7), "later");
  await witness.sees(1);
}

test("a delivery carries the event as the bridge sent it, with its workspace and when it was stored", async () => {
  const consumer = await start({ group: newGroup() }).opened();
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
  const group = newGroup();
  await typeIn(workspace(), "before");
  const first = await start({ group }).opened();
  await typeIn(workspace(), "after");
  expect(texts(await first.sees(1))).toEqual(["after/1"]);
  first.ack(...first.seen);
  first.halfClose();
  await first.ended();
  await typeIn(workspace(), "meanwhile");
  const second = start({ group });
  expect(texts(await second.sees(1))).toEqual(["meanwhile/1"]);
});

test("the events of a workspace come in order, each to one consumer of each group", async () => {
  const [one, two] = [newGroup(), newGroup()];
  const consumers = [
    start({ group: one, consumer: "a" }),
    start({ group: one, consumer: "b" }),
    start({ group: two, consumer: "a" }),
    start({ group: two, consumer: "b" }),
  ] as const;
  for (const consumer of consumers) (await consumer.opened()).ackAll();
  const sent = Array.from({ length: 20 }, (_, i) => String(i));
  await Promise.all(workspaces.map((each) => typeIn(each, ...sent)));
  const total = sent.length * workspaces.length;

  for (const group of [consumers.slice(0, 2), consumers.slice(2)]) {
    const seen = (): readonly Seen[] =>
      group.flatMap((consumer) => consumer.seen).filter(({ text }) => text !== "later");
    await until("the group has all", () => seen().length >= total);
    await pastThis();
    expect(seen()).toHaveLength(total);
    for (const { id } of workspaces) {
      const own = group.map((consumer) =>
        consumer.seen.filter(({ workspaceId, text }) => workspaceId === id && text !== "later"),
      );
      // Whichever had the shard when, first comes first.
      const inOrder = own.map((part) => part.map(({ text }) => Number(text)));
      for (const part of inOrder) expect(part).toEqual(part.toSorted((a, b) => a - b));
      expect(inOrder.flat().toSorted((a, b) => a - b)).toEqual(sent.map(Number));
    }
  }
});

describe("the window", () => {
  test("no more events are out than it has room for, and acks make room", async () => {
    const consumer = await start({ group: newGroup(), window: 3 }).opened();
    await Promise.all([0, 1, 2, 3].map((i) => typeIn(workspace(i), "a", "b", "c")));
    await consumer.sees(3);
    await pastThis();
    for (let acked = 0; acked < 12; acked++) {
      expect(consumer.seen).toHaveLength(Math.min(12, acked + 3));
      consumer.ack(...consumer.seen.slice(acked, acked + 1));
      await consumer.sees(Math.min(12, acked + 4));
    }
    expect(new Set(consumer.seen.map(({ id }) => id)).size).toBe(12);
  });
});

describe("an event that is not acked", () => {
  test("comes again after the ack deadline with the later unacked ones of its workspace, in order", async () => {
    // Long enough for all to be typed, and for the acks to arrive, before the first is overdue.
    const consumer = await start({ group: newGroup(), ackDeadline: { seconds: 3 } }).opened();
    await typeIn(workspace(1), "other");
    await typeIn(workspace(), "one", "two", "three", "four");
    const seen = await consumer.sees(5);
    consumer.ack(...seen.filter(({ text }) => ["one", "three", "other"].includes(text)));
    expect(texts((await consumer.sees(7)).slice(5, 7))).toEqual(["two/2", "four/2"]);
    expect(texts((await consumer.sees(9)).slice(7, 9))).toEqual(["two/3", "four/3"]);
    expect(consumer.seen[7]?.id).toBe(consumer.seen[5]?.id);
  });

  test("comes again to the next stream when its stream is dropped, the attempts counting", async () => {
    const group = newGroup();
    const first = await start({ group, window: 2 }).opened();
    await typeIn(workspace(), "one", "two", "three");
    first.ack(...(await first.sees(2)).slice(0, 1));
    // The third comes when the ack has.
    await first.sees(3);
    first.cancel();
    const second = start({ group, consumer: "another" });
    expect(texts(await second.sees(2))).toEqual(["two/2", "three/2"]);
    second.cancel();
    const third = start({ group });
    expect(texts(await third.sees(2))).toEqual(["two/3", "three/3"]);
  });

  test("comes again to another group's pace only: groups ack for themselves", async () => {
    const [quick, slow] = [newGroup(), newGroup()];
    const acking = await start({ group: quick }).opened();
    const silent = await start({ group: slow, ackDeadline: { seconds: 1 } }).opened();
    acking.ackAll();
    await typeIn(workspace(), "one");
    expect(texts(await silent.sees(2)).slice(0, 2)).toEqual(["one/1", "one/2"]);
    expect(texts(acking.seen)).toEqual(["one/1"]);
  });
});

test("unknown delivery ids in an ack are ignored", async () => {
  const consumer = await start({ group: newGroup() }).opened();
  const many = Array.from({ length: 9_000 }, (_, i) => ({ id: `0:${i + 1}-0` }));
  consumer.ack({ id: "" }, { id: "nonsense" }, { id: "99:1-0" }, { id: "0:99999999999999999999-0" });
  consumer.ack(...many);
  await typeIn(workspace(), "one");
  const [one] = await consumer.sees(1);
  consumer.ack(...(one === undefined ? [] : [one, one]));
  await typeIn(workspace(), "two");
  expect(texts(await consumer.sees(2))).toEqual(["one/1", "two/1"]);
  expect(consumer.end).toBeUndefined();
});
