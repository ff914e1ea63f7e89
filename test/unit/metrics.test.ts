import { addBacklogMetrics } from "../../core/metrics/backlog-metrics";
import type { GroupBacklog, ShardBacklog } from "../../core/ports/backlog";
import { byLabel, countsOf, createMetrics } from "../../runtime/metrics";
import { parseMetrics } from "../harness/metrics";

test("a histogram counts a value by label, in each bucket with an equal or higher bound; known labels start at zero", async () => {
  const metrics = createMetrics();
  const plain = metrics.histogram("plain_seconds", "words", [0.1, 1, 10]);
  for (const value of [0, 0.1, 0.5, 1, 1.5, 10, 20]) plain.observe(value);
  const of = metrics.histograms("of_seconds", "words", [0.1, 1, 10], "name", ["known"]);
  for (const value of [5, 0.5]) of("found").observe(value);
  const read = parseMetrics(await metrics.text());
  expect(read.get("plain_seconds")).toMatchObject({ type: "histogram", help: "words" });
  expect(Object.fromEntries(read.get("plain_seconds")?.values ?? [])).toEqual({
    '_bucket le="0.1"': 2,
    '_bucket le="1"': 4,
    '_bucket le="10"': 6,
    '_bucket le="+Inf"': 7,
    _sum: 33.1,
    _count: 7,
  });
  const names = ['_count name="known"', '_count name="found"', '_bucket name="found",le="1"'];
  expect(names.map((name) => read.get("of_seconds")?.values.get(name))).toEqual([0, 2, 1]);
});

test("counters and gauges are evaluated at each reading, and an unknown value is omitted", async () => {
  const metrics = createMetrics();
  const counts = countsOf(["a", "b"]);
  let waiting: number | undefined;
  metrics.counter("things_total", "words", () => byLabel("what", counts));
  metrics.gauge("things_waiting", "words", () => waiting);
  const read = async (name: string) => parseMetrics(await metrics.text()).get(name);
  const before = await read("things_total");
  expect(before?.values).toEqual(new Map(Object.entries({ 'what="a"': 0, 'what="b"': 0 })));
  expect((await read("things_waiting"))?.values.size).toBe(0);
  counts.a += 3;
  waiting = 7;
  expect((await read("things_total"))?.values.get('what="a"')).toBe(3);
  expect(await read("things_waiting")).toMatchObject({ type: "gauge", values: new Map([["", 7]]) });
});

test("values are fetched before each reading, and a failed fetch does not fail the reading", async () => {
  const metrics = createMetrics();
  let readings = 0;
  metrics.beforeReading(async () => {
    readings += 1;
    await new Promise(setImmediate);
    if (readings === 2) throw new Error("the value is unavailable");
  });
  metrics.gauge("readings", "words", () => readings);
  for (const count of [1, 2, 3]) {
    const read = parseMetrics(await metrics.text()).get("readings");
    expect(read?.values.get("")).toBe(count);
  }
});

test("two metrics cannot have the same name", () => {
  const metrics = createMetrics();
  metrics.gauge("one", "words", () => 1);
  expect(() => metrics.counter("one", "words", () => 1)).toThrow(/already/);
});

test("a label's value can be any string", async () => {
  const metrics = createMetrics();
  metrics.gauge("one", "words", () => [{ labels: { group: 'a "b" \\ \n c' }, value: 1 }]);
  expect(await metrics.text()).toContain('one{group="a \\"b\\" \\\\ \\n c"} 1\n');
});

describe("the backlog of a core's shards:", () => {
  const NOW_MS = 1_000_000;
  const NOTHING = { pushes: 0, pushBytes: 0, mails: 0, operatorEvents: 0, inboundEvents: 0 };
  const EMPTY: ShardBacklog = { ...NOTHING, oldestPushAtMs: undefined, groups: [] };

  /** Returns the metrics of a core that holds these shards, as a function from a metric's name to its values. */
  async function read(shards: readonly (Partial<ShardBacklog> | "away")[]) {
    const metrics = createMetrics();
    addBacklogMetrics(metrics).begin({
      now: () => NOW_MS,
      shards: 16,
      heldShards: () => shards.map((_shard, i) => i),
      backlog: {
        async read(shard) {
          const found = shards[shard];
          if (found === undefined || found === "away") throw new Error("the store is unavailable");
          return { ...EMPTY, ...found };
        },
      },
    });
    const found = parseMetrics(await metrics.text());
    return (name: string): object => Object.fromEntries(found.get(`chatbridge_core_${name}`)?.values ?? []);
  }

  const IDLE = { unread: 0, unacked: 0, oldestAtMs: undefined };
  const group = (name: string, fields: Partial<GroupBacklog>) => ({ group: name, ...IDLE, ...fields });

  test("the counts are summed over the shards that the core holds, and the age is that of the oldest push in these shards", async () => {
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
    expect(of("shards")).toEqual({ "": 16 });
  });

  test.each([[{}], [{ oldestPushAtMs: NOW_MS + 10 }]])(
    "the age of the push queue is 0 if the shard's backlog is %j",
    async (shard) => {
      expect((await read([shard]))("push_oldest_seconds")).toEqual({ "": 0 });
    },
  );

  test("a group's counts are summed over the shards, and the group's age is the age of its oldest event on any shard", async () => {
    const here = group("a", { unread: 1, unacked: 2, oldestAtMs: NOW_MS - 1_000 });
    const there = group("a", { unread: 10, unacked: 20, oldestAtMs: NOW_MS - 9_000 });
    const of = await read([{ groups: [here, group("b", { unread: 5 })] }, { groups: [there] }]);
    expect(of("follow_unread")).toEqual({ 'group="a"': 11, 'group="b"': 5 });
    expect(of("follow_unacked")).toEqual({ 'group="a"': 22, 'group="b"': 0 });
    expect(of("follow_oldest_seconds")).toEqual({ 'group="a"': 9, 'group="b"': 0 });
  });

  test("groups after the 20th are summed as one group, so that a scrape stays small", async () => {
    const groups = Array.from({ length: 30 }, (_, i) => group(`g${i}`, { unread: 1 }));
    const unread = (await read([{ groups }, { groups }]))("follow_unread");
    expect(Object.keys(unread)).toHaveLength(21);
    expect(unread).toMatchObject({ 'group="g0"': 2, 'group="g19"': 2, 'group="(others)"': 20 });
  });

  test("the number of steps for a scrape grows only in proportion to the number of groups", async () => {
    /** Returns how many list items a scrape visits or copies. */
    const itemsOf = async (count: number): Promise<number> => {
      const groups = Array.from({ length: count }, (_, i) => group(`g${i}`, { unread: 1 }));
      let items = 0;
      const counted = function* <T>(this: ArrayLike<T>): Generator<T> {
        for (let i = 0; i < this.length; i++, items++) yield this[i] as T;
      };
      const spy = jest.spyOn(Array.prototype, Symbol.iterator as never).mockImplementation(counted as never);
      try {
        await read([{ groups }]);
      } finally {
        spy.mockRestore();
      }
      return items;
    };
    const [few, many] = [await itemsOf(500), await itemsOf(2_000)];
    expect(few).toBeGreaterThan(500);
    expect(many).toBeLessThan(few * 5);
  });

  test.each<[string, readonly (Partial<ShardBacklog> | "away")[]]>([
    ["the store is unavailable for one of the shards", [{ pushes: 1 }, "away"]],
    ["no shard is held", []],
  ])("no backlog is reported while %s", async (_when, shards) => {
    const of = await read(shards);
    for (const name of "push_queue_length push_oldest_seconds mail_outbox_length follow_unread".split(" "))
      expect(of(name)).toEqual({});
    expect(of("shards_held")).toEqual({ "": shards.length });
  });
});
