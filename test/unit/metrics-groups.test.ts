import { addBacklogMetrics } from "../../core/metrics/backlog-metrics";
import type { GroupBacklog, ShardBacklog } from "../../core/ports/backlog";
import { createMetrics } from "../../runtime/metrics";
import { parseMetrics } from "../harness/metrics";

const NOW_MS = 1_000_000;
const EMPTY: ShardBacklog = { pushes: 0, oldestPushAtMs: undefined, mails: 0, inboundEvents: 0, groups: [] };

/** What a core says that holds these shards. */
async function read(shards: readonly (Partial<ShardBacklog> | "away")[]) {
  const metrics = createMetrics();
  addBacklogMetrics(metrics).begin({
    now: () => NOW_MS,
    heldShards: () => shards.map((_shard, i) => i),
    backlog: {
      async read(shard) {
        const found = shards[shard];
        if (found === undefined || found === "away") throw new Error("the store is away");
        return { ...EMPTY, ...found };
      },
    },
  });
  const found = parseMetrics(await metrics.text());
  return (name: string): object => Object.fromEntries(found.get(`chatbridge_core_${name}`)?.values ?? []);
}

const group = (name: string, fields: Partial<GroupBacklog> = {}): GroupBacklog => ({
  group: name,
  unread: 0,
  unacked: 0,
  oldestAtMs: undefined,
  ...fields,
});

test("what waits is the sum over the held shards, and of ages the highest", async () => {
  const of = await read([
    { pushes: 3, oldestPushAtMs: NOW_MS - 2_000, mails: 1, inboundEvents: 10 },
    { pushes: 4, oldestPushAtMs: NOW_MS - 5_000, mails: 0, inboundEvents: 20 },
    {},
  ]);
  expect(of("push_queue_length")).toEqual({ "": 7 });
  expect(of("push_oldest_seconds")).toEqual({ "": 5 });
  expect(of("mail_outbox_length")).toEqual({ "": 1 });
  expect(of("inbound_log_length")).toEqual({ "": 30 });
  expect(of("shards_held")).toEqual({ "": 3 });
});

test("an empty queue has an age of 0, and so has an entry that a clock dates later", async () => {
  const of = await read([{}, { oldestPushAtMs: NOW_MS + 10 }]);
  expect(of("push_oldest_seconds")).toEqual({ "": 0 });
});

test("of a group the shards are told together", async () => {
  const of = await read([
    {
      groups: [group("a", { unread: 1, unacked: 2, oldestAtMs: NOW_MS - 1_000 }), group("b", { unread: 5 })],
    },
    { groups: [group("a", { unread: 10, unacked: 20, oldestAtMs: NOW_MS - 9_000 })] },
  ]);
  expect(of("follow_unread")).toEqual({ 'group="a"': 11, 'group="b"': 5 });
  expect(of("follow_unacked")).toEqual({ 'group="a"': 22, 'group="b"': 0 });
  expect(of("follow_oldest_seconds")).toEqual({ 'group="a"': 9, 'group="b"': 0 });
});

test("from the 21st on groups are told together: their names are the games' to choose", async () => {
  const groups = Array.from({ length: 30 }, (_, i) => group(`g${i}`, { unread: 1 }));
  const unread = (await read([{ groups }, { groups }]))("follow_unread");
  expect(Object.keys(unread)).toHaveLength(21);
  expect(unread).toMatchObject({ 'group="g0"': 2, 'group="g19"': 2, 'group="(others)"': 20 });
});

test.each<[string, readonly (Partial<ShardBacklog> | "away")[]]>([
  ["the store is away for one of the shards", [{ pushes: 1 }, "away"]],
  ["no shard is held", []],
])("nothing is told of what waits while %s", async (_when, shards) => {
  const of = await read(shards);
  for (const name of ["push_queue_length", "push_oldest_seconds", "mail_outbox_length", "follow_unread"]) {
    expect(of(name)).toEqual({});
  }
  expect(of("shards_held")).toEqual({ "": shards.length });
});
