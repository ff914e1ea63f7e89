import * as fc from "fast-check";
import { StoreUnavailable } from "../../core/ports/store-faults";
import type { Workspace } from "../../core/domain/workspace";
import { untilNoCores } from "../../core/store/migration/live-cores";
import { migrateStore, type MigrationReporter, type Survey } from "../../core/store/migration/migrate-store";
import { asBytes, asList, asText } from "../../core/store/redis/reply";
import { indexEntry } from "../../core/store/workspace-index";
import { many } from "../harness/for-all";
import { openFormatOne, testFormatOne, type FormatOne } from "../harness/format-one";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { openTestStore, publication, readPage, sequenceOf, type TestStore } from "../harness/store";

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;
/** Events that expire within this time, in µs, may expire while a test runs. */
const NEAR_US = 600_000_000;

let server: TestRedis;
let old: FormatOne;
beforeAll(async () => {
  server = await startTestRedis(["--appendfsync", "no"]);
});
beforeEach(async () => {
  old = await openFormatOne(server.url, true);
  await old.redis.command("", ["FLUSHALL"]);
  await old.redis.command("", ["FUNCTION", "FLUSH"]);
  await old.mark();
});
afterEach(() => old.close());
afterAll(() => server.close());

interface Told {
  readonly begun: (readonly [number, boolean])[];
  readonly surveys: Survey[];
}

/** Migrates the store. Returns the result and the reports of the migration. */
async function migrate(to: 1 | 2, isDryRun = false, onBegin: () => void = () => undefined) {
  const told: Told = { begun: [], surveys: [] };
  const reporter: MigrationReporter = {
    unavailable: () => undefined,
    waiting: () => undefined,
    begins(...begun) {
      told.begun.push(begun);
      onBegin();
    },
    surveyed: (survey) => void told.surveys.push(survey),
    progress: () => undefined,
  };
  const migrated = await migrateStore({ redisUrl: server.url, shards: 16, to, isDryRun, reporter });
  return { ...migrated, ...told };
}

const readMark = async () => asText(await old.redis.command("", ["GET", "cb:shards"]));
const keyOf = ({ id }: Workspace, name: string) => `${old.keys.prefixOf(id)}:${name}:${id}`;
const nowUs = () => Date.now() * 1_000;

interface Event {
  readonly sequence: number;
  readonly json: string;
}

/** Calls `use` with the store as a core of this release opens it. */
async function withStore<T>(use: (store: TestStore) => Promise<T>): Promise<T> {
  const store = await openTestStore(server.url);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Reads all pages after a cursor as a core of this release. */
async function readNew(store: TestStore, { id }: Workspace, from: string, limit: number) {
  const record = await store.workspaces.read(id);
  if (record === undefined) throw new Error("the workspace is missing");
  const events: string[] = [];
  let [cursor, gap] = [from, false];
  for (;;) {
    const start = cursor === "oldest" ? ({ from: "oldest" } as const) : ({ from: "after", cursor } as const);
    const page = await readPage(store, { record, page: { start, limit } });
    if (!("events" in page)) throw new Error(page.outcome);
    events.push(...page.events.map(String));
    gap ||= page.gap;
    if (!page.hasMore) return { events, gap };
    cursor = page.last ?? cursor;
  }
}

/** Reads all pages after a cursor as a core of release 1.0.0-beta.1. */
async function readOld(workspace: Workspace, from: string, limit: number) {
  const parts: string[] = [];
  let [cursor, gap] = [from, false];
  for (;;) {
    const page = await old.page(workspace, cursor, limit);
    if (page.json !== "") parts.push(page.json);
    gap ||= page.gap;
    if (!page.hasMore) return { events: JSON.parse(`[${parts.join(",")}]`) as unknown[], gap };
    cursor = page.last;
  }
}

interface Published {
  readonly hoursAgo: number;
  /** The sizes of the events. */
  readonly sizes: readonly number[];
  /** Whether the bridge polls after the publication of these events. */
  readonly isPolled: boolean;
}

/** A day of a workspace. */
const DAY: fc.Arbitrary<readonly Published[]> = fc.array(
  fc.record({
    hoursAgo: fc.double({ min: 0, max: 26, noNaN: true }),
    sizes: fc.array(fc.oneof(fc.nat(300), fc.constantFrom(5_000, 16_200, 16_300, 40_000)), {
      minLength: 1,
      maxLength: 20,
    }),
    isPolled: fc.boolean(),
  }),
  { maxLength: 8 },
);

/** A workspace with events of a random day, a page size, and a cursor. */
interface Filled {
  readonly workspace: Workspace;
  readonly limit: number;
  readonly cursor: number;
  /** The last sequence that was served to a poll. */
  readonly served: number;
  /** The sequence of the last expired event; 0 if no event has expired. */
  readonly expired: number;
  /** The events that have not expired. */
  readonly live: Event[];
}

async function fill(day: readonly Published[], limit: number, place: number): Promise<Filled | undefined> {
  await old.setClock(nowUs() - 27 * HOUR_US);
  const workspace = await old.add();
  const events: Event[] = [];
  for (const { hoursAgo, sizes, isPolled } of day.toSorted((a, b) => b.hoursAgo - a.hoursAgo)) {
    await old.setClock(nowUs() - hoursAgo * HOUR_US);
    const texts = sizes.map((size) => "x".repeat(size));
    events.push(...(await old.publish(workspace, texts)));
    if (isPolled) await old.page(workspace, "oldest", limit);
  }
  await old.setClock(nowUs());
  const cutoff = nowUs() - DAY_US;
  if (events.some(({ sequence }) => Math.abs(sequence - cutoff) < NEAR_US)) return undefined;
  const live = events.filter(({ sequence }) => sequence > cutoff);
  const expired = events.findLast(({ sequence }) => sequence <= cutoff)?.sequence ?? 0;
  const cursor = events[place % (events.length + 1)]?.sequence ?? 1;
  return { workspace, limit, cursor, served: await readState(workspace, "served"), expired, live };
}

const after = (events: readonly Event[], sequence: number) =>
  events.filter((each) => each.sequence > sequence);
const jsonOf = (events: readonly Event[]) => events.map(({ json }) => json);

testFormatOne(
  "every held event is served with the same bytes after a migration, and after a migration back, at every cursor",
  async () => {
    const WORKSPACES = fc.array(fc.tuple(DAY, fc.integer({ min: 1, max: 100 }), fc.nat()), {
      minLength: 12,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(WORKSPACES, async (days) => {
        const found = [];
        for (const day of days) found.push(await fill(...day));
        const filled = found.flatMap((each) => each ?? []);

        const up = await migrate(2);
        expect(up).toMatchObject({ outcome: "migrated", unserved: 0 });
        await withStore(async (store) => {
          for (const { workspace, limit, cursor, served, expired, live } of filled) {
            const { waiting } = await store.pollWatch.health(workspace.id);
            expect(waiting).toBe(after(live, served).length);
            expect(await readNew(store, workspace, "oldest", limit)).toEqual({
              events: jsonOf(live),
              gap: false,
            });
            const events = jsonOf(after(live, cursor));
            expect(await readNew(store, workspace, String(cursor), limit)).toEqual({
              events,
              gap: cursor < expired,
            });
            const sequence = sequenceOf(await store.outboundEvents.publish(publication(workspace.id, "new")));
            expect(sequence).toBeGreaterThan(live.at(-1)?.sequence ?? expired);
            live.push({ sequence, json: `{"label":"new","sequence":${sequence}}` });
          }
        });

        expect(await migrate(1)).toMatchObject({ outcome: "migrated", unserved: 0 });
        expect(await readMark()).toBe("16");
        await old.load();
        await old.setClock(nowUs());
        for (const { workspace, limit, cursor, expired, live } of filled) {
          const events = jsonOf(live).map((json) => JSON.parse(json) as unknown);
          expect(await readOld(workspace, "oldest", limit)).toEqual({ events, gap: false });
          expect((await readOld(workspace, String(cursor), limit)).gap).toBe(cursor < expired);
          live.push(...(await old.publish(workspace, ["after", "the", "way", "back"])));
        }

        expect(await migrate(2)).toMatchObject({ outcome: "migrated", unserved: 0 });
        await withStore(async (store) => {
          for (const { workspace, limit, live } of filled) {
            expect((await readNew(store, workspace, "oldest", limit)).events).toEqual(jsonOf(live));
          }
        });
        await old.redis.command("", ["FLUSHALL"]);
        await old.mark();
      }),
      { numRuns: many(2) },
    );
  },
);

testFormatOne(
  "sequences keep rising, and served events stay served, after a migration and after a migration back",
  async () => {
    await old.setClock(nowUs() + HOUR_US);
    const workspace = await old.add();
    const [first] = await old.publish(workspace, ["from an hour ahead"]);
    await migrate(2);
    const sequences = await withStore(async (store) => {
      const publish = async () =>
        sequenceOf(await store.outboundEvents.publish(publication(workspace.id, "new")));
      const second = await publish();
      await readNew(store, workspace, "oldest", 10);
      return [first?.sequence ?? 0, second, await publish()];
    });
    await migrate(1);
    await old.load();
    await old.setClock(nowUs());
    for (const [field, value] of [
      ["served", sequences[1]],
      ["held", sequences[2]],
      ["facts", 0],
    ] as const) {
      expect([field, await readState(workspace, field)]).toEqual([field, value]);
    }
    const [last] = await old.publish(workspace, ["from now"]);
    sequences.push(last?.sequence ?? 0);
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
    await migrate(2);
    await withStore(async (store) => {
      expect((await store.pollWatch.health(workspace.id)).waiting).toBe(2);
    });
  },
);

testFormatOne("a migration waits until the leases of a crashed core have expired", async () => {
  const lease = `${old.keys.prefix(3)}:lease:!cores`;
  await old.redis.command(lease, ["SET", lease, "token of a crashed core"]);
  let waits = 0;
  await untilNoCores(old.redis, old.keys, () => {
    waits += 1;
    void old.redis.command(lease, ["DEL", lease]);
  });
  expect(waits).toBe(1);
});

testFormatOne("a core that was paused before a migration, and continues after it, cannot write", async () => {
  await old.setClock(nowUs());
  const workspace = await old.add();
  const before = await old.publish(workspace, ["before"]);
  await migrate(2);
  await expect(old.publish(workspace, ["late"])).rejects.toThrow(StoreUnavailable);
  await withStore(async (store) => {
    expect((await readNew(store, workspace, "oldest", 10)).events).toEqual(jsonOf(before));
    await migrate(1);
    await expect(store.outboundEvents.publish(publication(workspace.id, "late"))).rejects.toThrow(
      StoreUnavailable,
    );
  });
  await old.load();
  expect((await readOld(workspace, "oldest", 10)).events).toHaveLength(1);
});

testFormatOne.each(["16", "16 format=1 migrating=2"])(
  "a migration that has read the mark %s does not overwrite the mark of a migration that has run in the meantime",
  async (read) => {
    const other = "16 format=2 since=1.0.0-beta.2";
    const setMark = (text: string) => old.redis.command("", ["SET", "cb:shards", text]);
    await setMark(read);
    const migrating = migrate(2, false, () => void setMark(other));
    await expect(migrating).rejects.toThrow("another process has migrated this Redis meanwhile");
    expect(await readMark()).toBe(other);
  },
);

testFormatOne(
  "a migration corrects the size of the push queue and the states of failing workspaces, and removes data of deleted workspaces",
  async () => {
    await old.setClock(nowUs());
    const pushed = await old.add({ targetUrl: "https://bridge.example/events" });
    const [deleted, polled] = [await old.add(), await old.add()];
    await migrate(2);
    const [prefix, ofDeleted] = [old.keys.prefixOf(pushed.id), old.keys.prefixOf(deleted.id)];
    await withStore(async (store) => {
      for (const { id } of [deleted, polled]) {
        const record = await store.workspaces.read(id);
        if (record === undefined) throw new Error("the workspace is missing");
        await store.workspaces.replace({ ...record.workspace, name: "renamed" }, record.version, [
          { by: "a", change: "renamed", detail: "" },
        ]);
      }
      await store.workspaceStates.count(undefined);
    });
    await old.redis.command("", ["HSET", keyOf(pushed, "st"), "faulty", "1"]);
    await old.redis.command("", ["HSET", keyOf(polled, "st"), "faulty", "1", "alerted", "1"]);
    await migrate(1);
    await old.load();
    await old.publish(pushed, ["a", "b", "c".repeat(500)]);
    await old.call("delete_workspace", ofDeleted, [deleted.id, indexEntry(deleted)]);
    expect(await old.redis.command("", ["EXISTS", keyOf(deleted, "changes")])).toBe(1);

    await migrate(2);
    const queue = `${prefix}:push`;
    const entries = asList(await old.redis.command("", ["XRANGE", queue, "-", "+"]));
    const bytes = entries
      .map((entry) => asBytes(asList(asList(entry)[1])[1]).length)
      .reduce((sum, each) => sum + each, 0);
    expect(bytes).toBeGreaterThan(500);
    expect(Number(asText(await old.redis.command("", ["GET", `${prefix}:pushbytes`])))).toBe(bytes);
    expect(await old.redis.command("", ["ZSCORE", `${prefix}:due`, pushed.id])).not.toBeNull();
    expect(await old.redis.command("", ["HMGET", keyOf(polled, "st"), "faulty", "alerted"])).toEqual([
      null,
      null,
    ]);
    expect(await old.redis.command("", ["EXISTS", keyOf(deleted, "changes")])).toBe(0);
    expect(await old.redis.command("", ["EXISTS", keyOf(polled, "changes")])).toBe(1);
    await withStore(async (store) => {
      const counts = await store.workspaceStates.count(undefined);
      expect(Object.values(counts).reduce((sum, each) => sum + each, 0)).toBe(2);
    });
  },
);

testFormatOne(
  "a migration counts the data that format 1 lacks before it changes anything, ends the current line of polls, and removes unreadable log entries",
  async () => {
    await old.setClock(nowUs());
    const workspace = await old.add();
    await migrate(2);
    await withStore(async (store) => {
      await readNew(store, workspace, "oldest", 10);
      for (const result of ["outage", "expired"] as const) {
        await store.deliveryLog.append(workspace.id, {
          eventId: `evt_${result}`,
          eventType: "message.create",
          attempt: 0,
          result,
          status: undefined,
          latencyMs: 0,
          address: undefined,
        });
      }
      await readNew(store, workspace, "oldest", 10);
    });
    expect((await migrate(1, true)).surveys).toEqual([
      expect.objectContaining({ results: 1, polls: 1, failed: 0, operatorEvents: 0, sessions: 0 }),
    ]);
    const { surveys } = await migrate(1);
    expect(surveys).toHaveLength(1);
    const log = asList(await old.redis.command("", ["XRANGE", keyOf(workspace, "log"), "-", "+"]));
    expect(log).toHaveLength(1);
    expect(await old.redis.command("", ["LLEN", keyOf(workspace, "polls")])).toBe(2);
    expect(await readState(workspace, "run")).toBe(0);
  },
);

testFormatOne(
  "events that cannot be converted are counted: those reported to the bridge as lost, and those whose data is missing",
  async () => {
    await old.setClock(nowUs());
    const [given, missing, whole] = [await old.add(), await old.add(), await old.add()];
    const events = await old.publish(given, ["a", "b", "c"]);
    await old.publish(missing, ["x".repeat(20_000), "y".repeat(20_000)]);
    await old.publish(whole, ["kept"]);
    // As a build before 1.0.0-beta.2 does when it finds no stream.
    await old.redis.command("", ["HSET", keyOf(given, "st"), "gone", String(events[1]?.sequence)]);
    const [block] = asList(
      await old.redis.command("", ["KEYS", `${old.keys.prefixOf(missing.id)}:block:${missing.id}:*`]),
    )
      .map(asText)
      .toSorted();
    await old.redis.command("", ["DEL", block ?? ""]);
    expect((await migrate(2, true)).surveys).toEqual([{ converted: 3, expired: 0, unserved: 3 }]);
    expect(await migrate(2)).toMatchObject({ converted: 3, expired: 0, unserved: 3 });
    expect(await readMark()).toMatch(/ unserved=3$/);
    await withStore(async (store) => {
      expect((await readNew(store, given, "oldest", 10)).events).toEqual([events[2]?.json]);
      expect(await readNew(store, missing, "1", 10)).toMatchObject({
        gap: true,
        events: [expect.stringContaining("yyy")],
      });
    });
  },
);

async function readState(workspace: Workspace, field: string): Promise<number> {
  const key = keyOf(workspace, "st");
  return Number(asText((await old.redis.command(key, ["HGET", key, field])) ?? Buffer.from("0")));
}
