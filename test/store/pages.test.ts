import * as fc from "fast-check";
import type { PageStart } from "../../core/domain/cursor";
import type { PageAnswer } from "../../core/ports/held-events";
import type { Publication } from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asNumber } from "../../core/store/reply";
import { timePasses } from "../harness/held-events";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addWorkspace,
  evaluate,
  keyOf,
  openTestStore,
  publication,
  redisNowUs,
  texts,
  type TestStore,
} from "../harness/store";

jest.setTimeout(120_000);

const HOUR_US = 3_600_000_000;
const HOLD_US = 24 * HOUR_US;

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  // Many writes, one after the other: how long the disk takes over each is nothing to what is tested.
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

function large(workspaceId: string, label: number, bytes: number): Publication {
  const beforeSequence = `{"label":${label},"text":"${"x".repeat(bytes)}","sequence":`;
  return publication(workspaceId, label, { envelope: { beforeSequence, afterSequence: "}" } });
}

type Page = Extract<PageAnswer, { outcome: "page" }>;

async function readPage(record: WorkspaceRecord, start: PageStart, limit: number): Promise<Page> {
  const answer = await store.heldEvents.page({ record, page: { start, limit } });
  if (answer.outcome !== "page") throw new Error(`a page was answered with ${answer.outcome}`);
  return answer;
}

function labels(page: Page): readonly number[] {
  const events = JSON.parse(`[${page.events.join(",")}]`) as { label: number }[];
  return events.map(({ label }) => label);
}

const operations = fc.oneof(
  {
    weight: 3,
    // Some of them large, so that blocks are filled.
    arbitrary: fc.record({
      publish: fc.integer({ min: 1, max: 5 }),
      bytes: fc.constantFrom(10, 3_000, 20_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ passHours: fc.integer({ min: 1, max: 27 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      // Which of the events that there ever were, and how far beside it; before the first: from the oldest.
      after: fc.integer({ min: -2, max: 40 }),
      beside: fc.constantFrom(-1, 0, 1),
      limit: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 100 })),
    }),
  },
);

// contract: poll-has-more, poll-gap, poll-latest
test("a page, its cursor, hasMore and gap are what the events that were ever held say", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 30 }), async (steps) => {
      const record = await addWorkspace(store);
      const { id } = record.workspace;
      let all: { readonly label: number; readonly sequence: number }[] = [];
      for (const step of steps) {
        if ("publish" in step) {
          const labelled = Array.from({ length: step.publish }, (_, i) => all.length + i);
          const answers = await Promise.all(
            labelled.map((label) => store.outboundEvents.publish(large(id, label, step.bytes))),
          );
          for (const [i, answer] of answers.entries()) {
            if (answer.outcome !== "published") throw new Error(answer.outcome);
            all.push({ label: labelled[i] ?? -1, sequence: answer.sequence });
          }
        } else if ("passHours" in step) {
          await timePasses(store, id, step.passHours * HOUR_US);
          all = all.map(({ label, sequence }) => ({ label, sequence: sequence - step.passHours * HOUR_US }));
        } else {
          const cutoff = (await redisNowUs(store)) - HOLD_US;
          const newest = all.at(-1)?.sequence ?? 0;
          if (step.after === -2) {
            expect(await readPage(record, { from: "latest" }, step.limit)).toEqual({
              outcome: "page",
              events: [],
              last: String(newest),
              hasMore: false,
              gap: false,
            });
            continue;
          }
          const from =
            step.after === -1 ? -1 : Math.max(0, (all[step.after]?.sequence ?? newest) + step.beside);
          const waiting = all.filter(({ sequence }) => sequence > cutoff && sequence > from);
          const served = waiting.slice(0, step.limit);
          const start: PageStart = from < 0 ? { from: "oldest" } : { from: "after", cursor: String(from) };
          const page = await readPage(record, start, step.limit);
          expect(labels(page)).toEqual(served.map(({ label }) => label));
          const last = served.at(-1)?.sequence;
          expect([page.last, page.hasMore, page.gap]).toEqual([
            last === undefined ? undefined : String(last),
            waiting.length > served.length,
            from >= 0 && all.some(({ sequence }) => sequence > from && sequence <= cutoff),
          ]);
        }
      }
    }),
    { numRuns: 80 },
  );
});

// contract: poll-held-24h
test("events are held for 24 hours to the microsecond", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const published = await Promise.all(
    [0, 1].map((label) => store.outboundEvents.publish(publication(id, label))),
  );
  const [first = 0, second = 0] = published.map((each) => (each.outcome === "published" ? each.sequence : 0));
  expect(second).toBeGreaterThan(first);
  // The first is to have expired a microsecond ago at the latest, the second to stay for some seconds.
  await evaluate(
    store,
    `local second, last = struct.unpack('<dI4', redis.call('GET', KEYS[1]), 13)
     redis.call('SETRANGE', KEYS[1], 12, struct.pack('<dI4', second + tonumber(ARGV[1]), last))
     redis.call('HINCRBY', KEYS[2], 'sequence', ARGV[1])
     redis.call('HINCRBY', KEYS[2], 'held', ARGV[1])`,
    [keyOf(store, id, "index"), keyOf(store, id, "st")],
    60_000_000,
  );
  const gone = (await redisNowUs(store)) - HOLD_US;
  await timePasses(store, id, first - gone);
  expect(labels(await readPage(record, { from: "oldest" }, 100))).toEqual([1]);
  expect((await readPage(record, { from: "after", cursor: String(gone - 1) }, 100)).gap).toBe(true);
  expect((await readPage(record, { from: "after", cursor: String(gone) }, 100)).gap).toBe(false);
});

test("what is expired is freed by the next poll or publication, and an idle workspace's events by themselves", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const kept = async (): Promise<readonly string[]> => {
    const found = await texts(store, "KEYS", `*:${id}*`);
    return found.filter((key) => /:(full|index|block):/.test(key)).toSorted();
  };
  const index = keyOf(store, id, "index");
  const block = expect.stringContaining(`${keyOf(store, id, "block")}:`) as string;
  await store.outboundEvents.publish(publication(id, 1));
  expect(await kept()).toEqual([block, index]);
  for (const key of await kept()) {
    const idleMs = asNumber(await store.redis.command(key, ["PTTL", key]));
    expect(idleMs).toBeGreaterThanOrEqual(24 * 3_600_000);
    expect(idleMs).toBeLessThanOrEqual(25 * 3_600_000 + 60_000);
  }

  await timePasses(store, id, 24.5 * HOUR_US);
  expect(await kept()).toEqual([block, index]);
  await readPage(record, { from: "oldest" }, 1);
  expect(await kept()).toEqual([]);

  await store.outboundEvents.publish(publication(id, 2));
  const bytes = async (): Promise<number> => asNumber(await store.redis.command(index, ["STRLEN", index]));
  const one = await bytes();
  await timePasses(store, id, 24.5 * HOUR_US);
  await store.outboundEvents.publish(publication(id, 3));
  expect(await bytes()).toBe(one);

  await timePasses(store, id, 26 * HOUR_US);
  expect(await kept()).toEqual([]);
  expect(await readPage(record, { from: "after", cursor: "0" }, 1)).toMatchObject({
    last: undefined,
    gap: true,
  });
});

test("full blocks are freed when the last of their events has expired", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const stream = keyOf(store, id, "full");
  const blocks = async (): Promise<number> => asNumber(await store.redis.command(stream, ["XLEN", stream]));
  const fill = (from: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: 40 }, (_, i) => store.outboundEvents.publish(large(id, from + i, 1_000))),
    );
  await fill(0);
  const before = await blocks();
  expect(before).toBeGreaterThan(1);
  await timePasses(store, id, 23 * HOUR_US);
  await fill(40);
  const both = await blocks();
  await timePasses(store, id, 2 * HOUR_US);
  const page = await readPage(record, { from: "oldest" }, 100);
  expect(page.events.join(",").match(/"label"/g)).toHaveLength(40);
  expect(await blocks()).toBeLessThan(both);
  expect(page.gap).toBe(false);
  expect((await readPage(record, { from: "after", cursor: "0" }, 1)).gap).toBe(true);
});

// contract: poll-cursor
test.each(["0000000000000001", "000000000000000000", "9007199254740991", "999999999999999999"])(
  "%s is a cursor like any other",
  async (cursor) => {
    const record = await addWorkspace(store);
    await store.outboundEvents.publish(publication(record.workspace.id, 1));
    const page = await readPage(record, { from: "after", cursor }, 1);
    expect(labels(page)).toEqual(Number(cursor) < 2 ? [1] : []);
    expect(page.gap).toBe(false);
  },
);

test("pages of many workspaces that are read together come to the ones who asked", async () => {
  const records = await Promise.all(Array.from({ length: 40 }, () => addWorkspace(store)));
  await Promise.all(
    records.map(({ workspace }, i) => store.outboundEvents.publish(publication(workspace.id, i))),
  );
  const pages = await Promise.all(records.map((record) => readPage(record, { from: "oldest" }, 1)));
  expect(pages.map((page) => labels(page))).toEqual(records.map((_, i) => [i]));
});

test.each([
  ["small", 10],
  ["large", 9_000],
])(
  "a %s block that is not there is told of as a gap, and keeps nobody from publishing",
  async (_size, bytes) => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    let other = await addWorkspace(store);
    while (store.keys.shard(other.workspace.id) !== store.keys.shard(id)) other = await addWorkspace(store);
    const of = (workspaceId: string, label: number) =>
      publication(workspaceId, label, {
        envelope: {
          beforeSequence: `{"label":${label},"text":"${"x".repeat(bytes)}","sequence":`,
          afterSequence: "}",
        },
      });
    const first = await store.outboundEvents.publish(of(id, 1));
    const cursor = String((first.outcome === "published" ? first.sequence : 0) - 1);
    await store.redis.command("", ["DEL", ...(await texts(store, "KEYS", `${keyOf(store, id, "block")}:*`))]);
    expect(await readPage(record, { from: "after", cursor }, 10)).toMatchObject({ events: [], gap: true });

    const outcomes = await Promise.all(
      [of(id, 2), of(other.workspace.id, 1)].map(store.outboundEvents.publish),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["published", "published"]);
    expect(labels(await readPage(record, { from: "oldest" }, 10))).toEqual([2]);
    expect(labels(await readPage(other, { from: "oldest" }, 10))).toEqual([1]);
  },
);
