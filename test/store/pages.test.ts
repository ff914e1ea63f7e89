import * as fc from "fast-check";
import type { PageStart } from "../../core/domain/cursor";
import type { PageAnswer } from "../../core/ports/held-events";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asNumber } from "../../core/store/reply";
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

const HOUR_US = 3_600_000_000;
const HOLD_US = 24 * HOUR_US;

let redis: TestRedis;
let store: TestStore;
beforeAll(async () => {
  redis = await startTestRedis();
  store = await openTestStore(redis.url);
});
afterAll(async () => {
  await store.close();
  await redis.close();
});

/** What is kept of held events had `us` gone by: sequences that much older, the stream that much nearer to its own end. */
function timePasses(workspaceId: string, us: number): Promise<void> {
  const script = `
    local stream, state, us = KEYS[1], KEYS[2], tonumber(ARGV[1])
    local left = redis.call('PTTL', stream) - us / 1000
    local entries = redis.call('XRANGE', stream, '-', '+')
    if #entries > 0 then redis.call('DEL', stream) end
    for _, entry in ipairs(entries) do
      local sequence = tonumber(string.match(entry[1], '^%d+')) - us
      redis.call('XADD', stream, string.format('%.0f-0', sequence), unpack(entry[2]))
    end
    if left > 0 then
      redis.call('PEXPIRE', stream, string.format('%.0f', left))
    else
      redis.call('DEL', stream)
    end
    for _, field in ipairs({ 'sequence', 'held', 'gone', 'served' }) do
      local at = redis.call('HGET', state, field)
      if at then redis.call('HSET', state, field, string.format('%.0f', tonumber(at) - us)) end
    end`;
  return evaluate(store, script, [keyOf(store, workspaceId, "held"), keyOf(store, workspaceId, "st")], us);
}

type Page = Extract<PageAnswer, { outcome: "page" }>;

async function readPage(record: WorkspaceRecord, start: PageStart, limit: number): Promise<Page> {
  const answer = await store.heldEvents.page({ record, page: { start, limit } });
  if (answer.outcome !== "page") throw new Error(`a page was answered with ${answer.outcome}`);
  return answer;
}

function labels(page: Page): readonly number[] {
  const events = JSON.parse(`[${page.events.toString("utf8")}]`) as { label: number }[];
  return events.map(({ label }) => label);
}

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ publish: fc.integer({ min: 1, max: 5 }) }) },
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
            labelled.map((label) => store.outboundEvents.publish(publication(id, label))),
          );
          for (const [i, answer] of answers.entries()) {
            if (answer.outcome !== "published") throw new Error(answer.outcome);
            all.push({ label: labelled[i] ?? -1, sequence: answer.sequence });
          }
        } else if ("passHours" in step) {
          await timePasses(id, step.passHours * HOUR_US);
          all = all.map(({ label, sequence }) => ({ label, sequence: sequence - step.passHours * HOUR_US }));
        } else {
          const cutoff = (await redisNowUs(store)) - HOLD_US;
          const newest = all.at(-1)?.sequence ?? 0;
          if (step.after === -2) {
            expect(await readPage(record, { from: "latest" }, step.limit)).toEqual({
              outcome: "page",
              events: Buffer.alloc(0),
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

test("events are held for 24 hours to the microsecond", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const now = await redisNowUs(store);
  const stream = keyOf(store, id, "held");
  const kept = now - HOLD_US + 60_000_000;
  const gone = now - HOLD_US - 1;
  for (const [label, sequence] of [gone, kept].entries()) {
    await store.redis.command(stream, ["XADD", stream, `${sequence}-0`, "e", JSON.stringify({ label })]);
  }
  await store.redis.command(stream, [
    "HSET",
    keyOf(store, id, "st"),
    "sequence",
    String(kept),
    "held",
    String(kept),
  ]);
  expect(labels(await readPage(record, { from: "oldest" }, 100))).toEqual([1]);
  expect((await readPage(record, { from: "after", cursor: String(gone - 1) }, 100)).gap).toBe(true);
  expect((await readPage(record, { from: "after", cursor: String(gone) }, 100)).gap).toBe(false);
});

test("what is expired is freed by the next poll or publication, and an idle workspace's events by themselves", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const stream = keyOf(store, id, "held");
  const length = async (): Promise<number> => asNumber(await store.redis.command(stream, ["XLEN", stream]));
  await store.outboundEvents.publish(publication(id, 1));
  const idleMs = asNumber(await store.redis.command(stream, ["PTTL", stream]));
  expect(idleMs).toBeGreaterThanOrEqual(24 * 3_600_000);
  expect(idleMs).toBeLessThanOrEqual(25 * 3_600_000);

  await timePasses(id, 24.5 * HOUR_US);
  expect(await length()).toBe(1);
  await readPage(record, { from: "oldest" }, 1);
  expect(await length()).toBe(0);

  await store.outboundEvents.publish(publication(id, 2));
  await timePasses(id, 24.5 * HOUR_US);
  await store.outboundEvents.publish(publication(id, 3));
  expect(await length()).toBe(1);

  await timePasses(id, 26 * HOUR_US);
  expect(await texts(store, "KEYS", stream)).toEqual([]);
  expect(await readPage(record, { from: "after", cursor: "0" }, 1)).toMatchObject({
    last: undefined,
    gap: true,
  });
});

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
