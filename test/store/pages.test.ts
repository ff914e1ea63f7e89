import * as fc from "fast-check";
import { CONTRACT_LIMITS } from "../../core/domain/bounds";
import type { PageAnswer, PageStart } from "../../core/ports/outbound-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { createHeldEvents } from "../../core/store/held-events";
import { LARGE_PAGE_BOUNDS } from "../../core/store/large-pages";
import type { Redis } from "../../core/store/redis/redis";
import { asNumber } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import { heldSequences, timePasses } from "../harness/held-events";
import { until } from "../harness/wait";
import {
  addNeighbour,
  addWorkspace,
  keyOf,
  publication,
  redisNowUs,
  sequenceOf,
  stopClock,
  testStore,
} from "../harness/store";

const HOUR_US = 3_600_000_000;
const HOLD_US = 24 * HOUR_US;

const store = testStore();

/** Publishes an event of at least `bytes` bytes, and returns its sequence. */
async function publish(workspaceId: string, label: number, bytes = 10): Promise<number> {
  const beforeSequence = `{"label":${label},"text":"${"x".repeat(bytes)}","sequence":`;
  const envelope = { beforeSequence, afterSequence: "}" };
  return sequenceOf(await store.outboundEvents.publish(publication(workspaceId, label, { envelope })));
}

type Page = Extract<PageAnswer, { outcome: "page" }>;

async function readPage(record: WorkspaceRecord, start: PageStart, limit: number): Promise<Page> {
  const answer = await store.heldEvents.page({ record, page: { start, limit } });
  if (answer.outcome !== "page") throw new Error(`a poll was answered with ${answer.outcome}`);
  answer.release?.();
  return answer;
}
const readAfter = (record: WorkspaceRecord, cursor: number, limit = 100): Promise<Page> =>
  readPage(record, { from: "after", cursor: String(cursor) }, limit);

function labels(page: Page): readonly number[] {
  const events = JSON.parse(`[${page.events.join(",")}]`) as { label: number }[];
  return events.map(({ label }) => label);
}

const operations = fc.oneof(
  {
    weight: 3,
    // Some events are large, so some pages are read outside the Redis function.
    arbitrary: fc.record({
      publish: fc.integer({ min: 1, max: 12 }),
      bytes: fc.constantFrom(10, 3_000, 20_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ passHours: fc.integer({ min: 1, max: 27 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      // The cursor is the sequence of the published event with this index, plus the offset `beside`. The index -1
      // stands for "oldest", and -2 for "latest".
      after: fc.integer({ min: -2, max: 60 }),
      beside: fc.constantFrom(-1, 0, 1),
      limit: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 100 })),
    }),
  },
);

// time: controlled
// contract: poll-has-more, poll-gap, poll-latest
test("a page has the correct events, cursor, `hasMore` and `gap`, whatever was published and has expired", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 30 }), async (steps) => {
      const record = await addWorkspace(store);
      const { id } = record.workspace;
      let all: number[] = [];
      for (const step of steps) {
        if ("publish" in step) {
          const count = all.length;
          const more = Array.from({ length: step.publish }, (_, i) => publish(id, count + i, step.bytes));
          all.push(...(await Promise.all(more)));
        } else if ("passHours" in step) {
          await timePasses(store, id, step.passHours * HOUR_US);
          all = all.map((sequence) => sequence - step.passHours * HOUR_US);
        } else {
          const cutoff = (await redisNowUs(store)) - HOLD_US;
          const newest = all.at(-1) ?? 0;
          if (step.after === -2) {
            const none = { outcome: "page", events: [], last: String(newest), hasMore: false, gap: false };
            expect(await readPage(record, { from: "latest" }, step.limit)).toEqual(none);
            continue;
          }
          const from = step.after === -1 ? -1 : Math.max(0, (all[step.after] ?? newest) + step.beside);
          const waiting = all.filter((sequence) => sequence > cutoff && sequence > from);
          const served = waiting.slice(0, step.limit);
          const page = await (from < 0
            ? readPage(record, { from: "oldest" }, step.limit)
            : readAfter(record, from, step.limit));
          expect(labels(page)).toEqual(served.map((sequence) => all.indexOf(sequence)));
          const last = served.at(-1);
          expect([page.last, page.hasMore, page.gap]).toEqual([
            last === undefined ? undefined : String(last),
            waiting.length > served.length,
            from >= 0 && all.some((sequence) => sequence > from && sequence <= cutoff),
          ]);
        }
      }
    }),
    { numRuns: many(80) },
  );
});

// time: controlled
test("the next poll or publication removes expired events, and the events of an idle workspace expire in Redis", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const key = keyOf(store, id, "held");
  const began = Date.now();
  await publish(id, 1);
  const expiresAtMs = asNumber(await store.redis.command(key, ["PEXPIRETIME", key]));
  expect(expiresAtMs).toBeGreaterThanOrEqual(began + 24 * 3_600_000);
  expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + 25 * 3_600_000);
  await timePasses(store, id, 24.5 * HOUR_US);
  expect(await heldSequences(store, id)).toHaveLength(1);
  await readPage(record, { from: "oldest" }, 1);
  expect(await heldSequences(store, id)).toEqual([]);

  await publish(id, 2);
  await timePasses(store, id, 24.5 * HOUR_US);
  const last = await publish(id, 3);
  expect(await heldSequences(store, id)).toEqual([last]);

  await timePasses(store, id, 26 * HOUR_US);
  expect(await store.redis.command(key, ["EXISTS", key])).toBe(0);
  expect(await readAfter(record, 0)).toMatchObject({ last: undefined, gap: true });
});

test.each([
  ["inside the Redis function", 8],
  ["outside the Redis function", 9],
])(
  "a page that is read %s contains exactly the events that were published before the poll",
  async (_how, count) => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    const expected = Array.from({ length: count }, (_, i) => i);
    await Promise.all(expected.map((label) => publish(id, label)));
    // Publishes one more event after the Redis function has answered, but before core reads a large page.
    let between: number | undefined;
    const redis: Redis = {
      ...store.redis,
      async entries(key, args) {
        between ??= await publish(id, count);
        return store.redis.entries(key, args);
      },
    };
    const events = createHeldEvents(redis, store.functions, store.keys, CONTRACT_LIMITS);
    const page = await events.page({ record, page: { start: { from: "oldest" }, limit: 100 } });
    if (page.outcome !== "page") throw new Error(page.outcome);
    expect(between === undefined).toBe(count === 8);
    expect([labels(page), page.hasMore]).toEqual([expected, false]);
    const next = await readAfter(record, Number(page.last));
    expect(labels(next)).toEqual(between === undefined ? [] : [count]);
  },
);

test("a workspace's next large page is read only after its previous one was released, so its polls do not delay other workspaces", async () => {
  const busy = await addWorkspace(store);
  const other = await addNeighbour(store, busy);
  for (const { workspace } of [busy, other]) await publish(workspace.id, 1, 20_000);
  const reads: string[] = [];
  const gates: (() => void)[] = [];
  const redis: Redis = {
    ...store.redis,
    async entries(key, args) {
      reads.push(key);
      await new Promise<void>((open) => gates.push(open));
      return store.redis.entries(key, args);
    },
  };
  const events = createHeldEvents(redis, store.functions, store.keys, CONTRACT_LIMITS);
  const poll = async (record: WorkspaceRecord): Promise<Page> => {
    const page = await events.page({ record, page: { start: { from: "oldest" }, limit: 100 } });
    if (page.outcome !== "page") throw new Error(page.outcome);
    return page;
  };
  const polls = [busy, busy, busy, other].map(poll);
  const [mine, its] = [busy, other].map(({ workspace }) => keyOf(store, workspace.id, "held"));
  await until("a page of each workspace is being read", () => reads.length === 2);
  gates[1]?.();
  expect(await polls[3]).toMatchObject({ events: { length: 1 } });
  for (const at of [0, 2, 3]) {
    await until("the next page is being read", () => gates.length > at);
    expect(reads).toEqual([mine, its, mine, mine].slice(0, gates.length));
    gates[at]?.();
    const page = await polls[Math.max(0, at - 1)];
    expect(page?.events).toHaveLength(1);
    expect(gates).toHaveLength(Math.max(2, at + 1));
    page?.release?.();
  }
  expect(reads).toEqual([mine, its, mine, mine]);
});

test("core limits the rate of a workspace's large pages, but does not delay the pages of another workspace", async () => {
  const busy = await addWorkspace(store);
  const other = await addNeighbour(store, busy);
  const bytes = 20_000;
  const paceMs = 300;
  for (const { workspace } of [busy, other]) await publish(workspace.id, 1, bytes);
  const events = createHeldEvents(store.redis, store.functions, store.keys, CONTRACT_LIMITS, {
    ...LARGE_PAGE_BOUNDS,
    small: 1,
    bytesPerSecond: (bytes / paceMs) * 1_000,
  });
  const poll = async ({ record, ended }: { record: WorkspaceRecord; ended: string[] }): Promise<void> => {
    const page = await events.page({ record, page: { start: { from: "oldest" }, limit: 100 } });
    ended.push(record.workspace.id);
    if (page.outcome === "page") page.release?.();
  };
  const ended: string[] = [];
  const began = performance.now();
  await Promise.all([busy, busy, busy, other].map((record) => poll({ record, ended })));
  expect(performance.now() - began).toBeGreaterThanOrEqual(2 * paceMs - 5);
  const [mine, its] = [busy.workspace.id, other.workspace.id];
  expect(ended).toEqual([mine, its, mine, mine]);
});

test("small pages do not wait for large pages of other workspaces, even if their workspace held large events a day ago", async () => {
  const first = await addWorkspace(store);
  const second = await addNeighbour(store, first);
  const small = await addNeighbour(store, first);
  const grown = await addNeighbour(store, first);
  for (const { workspace } of [first, second, small]) {
    await Promise.all([1, 2].map((label) => publish(workspace.id, label, 60_000)));
  }
  await timePasses(store, small.workspace.id, 25 * HOUR_US);
  await Promise.all([3, 4].map((label) => publish(small.workspace.id, label, 20_000)));
  await publish(grown.workspace.id, 1, 20_000);
  await publish(grown.workspace.id, 2, 60_000);
  const events = createHeldEvents(store.redis, store.functions, store.keys, CONTRACT_LIMITS, {
    ...LARGE_PAGE_BOUNDS,
    smallBytes: 100_000,
    larger: 1,
  });
  const ended: WorkspaceRecord[] = [];
  const poll = async (record: WorkspaceRecord): Promise<Page> => {
    const page = await events.page({ record, page: { start: { from: "oldest" }, limit: 100 } });
    if (page.outcome !== "page") throw new Error(page.outcome);
    ended.push(record);
    return page;
  };
  const page = await poll(first);
  const waiting = [second, grown].map(poll);
  await poll(small);
  expect(ended).toEqual([first, small]);
  page.release?.();
  for (const each of waiting) (await each).release?.();
  expect(ended).toEqual([first, small, second, grown]);
});

test("a page that is never released delays the next large page of its workspace, but not forever", async () => {
  const record = await addWorkspace(store);
  await publish(record.workspace.id, 1, 20_000);
  const events = createHeldEvents(store.redis, store.functions, store.keys, CONTRACT_LIMITS, {
    ...LARGE_PAGE_BOUNDS,
    withinMs: 200,
  });
  const began = performance.now();
  for (const _ of [1, 2]) {
    const page = { start: { from: "oldest" }, limit: 100 } as const;
    expect(await events.page({ record, page })).toMatchObject({ outcome: "page", events: { length: 1 } });
  }
  expect(performance.now() - began).toBeGreaterThan(150);
});

const ODD_CURSORS = ["0000000000000001", "000000000000000000", "9007199254740991", "999999999999999999"];
// contract: poll-cursor
test.each(ODD_CURSORS)("%s is accepted as a cursor", async (cursor) => {
  const record = await addWorkspace(store);
  await publish(record.workspace.id, 1);
  const page = await readPage(record, { from: "after", cursor }, 1);
  expect([labels(page), page.gap]).toEqual([Number(cursor) < 2 ? [1] : [], false]);
});

test.each([
  ["before a poll", "page"],
  ["before a publication", "publish"],
])(
  "held events that Redis lost %s are reported as a gap, and publishing still works",
  async (_when, next) => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    const neighbour = await addNeighbour(store, record);
    const lost = await publish(id, 1);
    const key = keyOf(store, id, "held");
    await store.redis.command(key, ["DEL", key]);
    if (next === "page") expect(await readAfter(record, lost - 1)).toMatchObject({ events: [], gap: true });
    await Promise.all([publish(id, 2), publish(neighbour.workspace.id, 1)]);
    const page = await readAfter(record, lost - 1);
    expect([labels(page), page.gap]).toEqual([[2], true]);
    expect(labels(await readPage(neighbour, { from: "oldest" }, 10))).toEqual([1]);
  },
);

// time: controlled
// contract: poll-held-24h
test("events are held for exactly 24 hours", async () => {
  const record = await addWorkspace(store);
  const now = await redisNowUs(store);
  // This must be the last test, because it stops the clock for the rest of the file.
  const setClock = await stopClock(store);
  for (const label of [0, 1]) {
    await setClock(now + label);
    await publish(record.workspace.id, label);
  }
  const after = async (sequence: number): Promise<unknown> => {
    const page = await readAfter(record, sequence);
    return [page.gap, labels(page)];
  };
  await setClock(now + HOLD_US - 1);
  expect(await after(0)).toEqual([false, [0, 1]]);
  await setClock(now + HOLD_US);
  expect(await after(now - 1)).toEqual([true, [1]]);
  expect(await after(now)).toEqual([false, [1]]);
  await setClock(now + HOLD_US + 1);
  expect(await after(now)).toEqual([true, []]);
});
