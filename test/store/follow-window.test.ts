import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import type { LogEntry, ParkedEntry, WindowShare } from "../../core/ports/follow-log";
import type { Member } from "../../core/ports/leases";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { many } from "../harness/for-all";
import { divide } from "../harness/memory-follow-log";
import { addNeighbour, addWorkspace, inbound, testStore } from "../harness/store";

const store = testStore();
const SHARE: WindowShare = { room: 4, least: 1, counts: new Map() };

/** Opens a group for two workspaces of one shard, and acquires the lease of the shard for a reader. */
async function startReading() {
  const group = `group-${randomUUID()}`;
  await store.followLog.open(group);
  const busy = await addWorkspace(store);
  const other = await addNeighbour(store, busy);
  const shard = store.keys.shard(busy.workspace.id);
  const reader: Member = { group, name: "c", token: randomUUID() };
  expect(await store.followLog.take(reader, shard)).toBe(true);
  const key = `${store.keys.prefix(shard)}:lease:${group}`;
  // The lease must not expire on a slow machine.
  await store.redis.command(key, ["PERSIST", key]);
  const log = `${store.keys.prefix(shard)}:in`;
  /** Returns the attempts of the unacked events, in order. */
  const attempts = async (): Promise<readonly number[]> => {
    const pending = asList(await store.redis.command(key, ["XPENDING", log, group, "-", "+", "1000"]));
    return pending.map((entry) => asNumber(asList(entry)[3] ?? null));
  };
  /** Returns the texts of the parked events. */
  const eventsOf = async (parked: readonly ParkedEntry[] | undefined): Promise<readonly string[]> =>
    Promise.all(
      (parked ?? []).map(async ({ entryId }) => {
        const [entry = []] = asList(await store.redis.command(key, ["XRANGE", log, entryId, entryId]));
        return asText(asList(asList(entry)[1] ?? [])[3] ?? null);
      }),
    );
  return { group, reader, shard, busy, other, log, attempts, eventsOf };
}

async function append(to: WorkspaceRecord, ...events: readonly string[]): Promise<void> {
  for (const event of events) {
    expect(await store.inboundLog.append(inbound(to, randomUUID(), event))).toEqual({ outcome: "stored" });
  }
}

const shown = (entries: readonly LogEntry[] | undefined): readonly string[] | undefined =>
  entries?.map(({ event, attempt }) => `${event.toString()}/${attempt}`);
const idsOf = (entries: readonly ParkedEntry[] | undefined): readonly string[] =>
  (entries ?? []).map(({ entryId }) => entryId);

test("a read with a share parks the events that exceed a workspace's share, with the attempt 0", async () => {
  const { reader, shard, busy, other, attempts, eventsOf } = await startReading();
  await append(busy, "a0", "a1", "a2", "a3");
  await append(other, "b0");
  await append(busy, "a4");
  const read = await store.followLog.readNew(reader, shard, 10, SHARE);
  expect([shown(read?.entries), read?.isEnd]).toEqual([["a0/1", "a1/1", "b0/1"], true]);
  expect(await eventsOf(read?.parked)).toEqual(["a2", "a3", "a4"]);
  expect(new Set(read?.parked?.map(({ workspaceId }) => workspaceId))).toEqual(new Set([busy.workspace.id]));
  expect(await attempts()).toEqual([1, 1, 0, 0, 1, 0]);

  const parked = await store.followLog.readEntries(reader, shard, idsOf(read?.parked).slice(0, 2));
  expect(shown(parked)).toEqual(["a2/1", "a3/1"]);
  expect(await attempts()).toEqual([1, 1, 1, 1, 1, 0]);
});

test("events in flight count toward a workspace's share, and its later events wait behind its parked events", async () => {
  const { reader, shard, busy, other, eventsOf } = await startReading();
  await append(busy, "a0");
  await append(other, "b0", "b1");
  const counts = new Map([
    [busy.workspace.id, Infinity],
    [other.workspace.id, 3],
  ]);
  const read = await store.followLog.readNew(reader, shard, 10, { room: 5, least: 1, counts });
  expect([shown(read?.entries), await eventsOf(read?.parked)]).toEqual([["b0/1"], ["a0", "b1"]]);
});

test("a workspace can always use its minimum share while the window has room", async () => {
  const { reader, shard, busy } = await startReading();
  await append(busy, "a0", "a1");
  const counts = new Map([[busy.workspace.id, 2]]);
  const read = await store.followLog.readNew(reader, shard, 10, { room: 2, least: 2.5, counts });
  expect([shown(read?.entries), read?.parked?.length]).toEqual([["a0/1"], 1]);
});

test("the next holder of the lease parks unacked events again, and their attempts do not change", async () => {
  const { reader, shard, busy, other, attempts, eventsOf } = await startReading();
  await append(busy, "a0", "a1", "a2", "a3");
  await append(other, "b0");
  const first = await store.followLog.readNew(reader, shard, 10, SHARE);
  expect(first?.parked).toHaveLength(2);
  const again = await store.followLog.readAgain(reader, shard, 10, undefined, { ...SHARE, room: 2 });
  expect([shown(again?.entries), await eventsOf(again?.parked)]).toEqual([
    ["a0/2", "b0/2"],
    ["a1", "a2", "a3"],
  ]);
  expect(await attempts()).toEqual([2, 1, 0, 0, 2]);
  const all = await store.followLog.readAgain(reader, shard, 10, undefined);
  expect(shown(all?.entries)).toEqual(["a0/3", "a1/2", "a2/1", "a3/1", "b0/3"]);
});

test("parked events that the log no longer contains are skipped", async () => {
  const { reader, shard, busy, log, eventsOf } = await startReading();
  await append(busy, "a0", "a1", "a2");
  const read = await store.followLog.readNew(reader, shard, 10, { ...SHARE, room: 1 });
  expect(await eventsOf(read?.parked)).toEqual(["a1", "a2"]);
  const ids = idsOf(read?.parked);
  await store.redis.command("", ["XDEL", log, ids[0] ?? ""]);
  expect(shown(await store.followLog.readEntries(reader, shard, ids))).toEqual(["a2/1"]);
});

test("a read with a large share sends no counts to Redis, and parks nothing", async () => {
  const { reader, shard, busy, attempts } = await startReading();
  await append(busy, "a0", "a1", "a2");
  const counts = new Map([[busy.workspace.id, 500]]);
  const read = await store.followLog.readNew(reader, shard, 100, { room: 999, least: 125, counts });
  expect([shown(read?.entries), read?.parked]).toEqual([["a0/1", "a1/1", "a2/1"], []]);
  expect(await attempts()).toEqual([1, 1, 1]);
});

const shares = fc.record({
  room: fc.integer({ min: 1, max: 12 }),
  least: fc.constantFrom(0.5, 1.25, 2, 12),
  inFlight: fc.array(fc.option(fc.nat(8), { nil: Infinity }), { minLength: 3, maxLength: 3 }),
  posted: fc.array(fc.nat(2), { minLength: 1, maxLength: 16 }),
  count: fc.integer({ min: 1, max: 20 }),
});

test("the store divides the window among workspaces by the same rule as core", async () => {
  const { reader, shard, busy, other } = await startReading();
  const workspaces = [busy, other, await addNeighbour(store, busy)];
  const idOf = (index: number): string => workspaces[index]?.workspace.id ?? "";
  await fc.assert(
    fc.asyncProperty(shares, async ({ room, least, inFlight, posted, count }) => {
      for (const index of posted) await append(workspaces[index] ?? busy, "x");
      const share = { room, least, counts: new Map(inFlight.map((n, index) => [idOf(index), n])) };
      const expected = divide(
        posted.slice(0, count).map((index, at) => ({ entryId: String(at), workspaceId: idOf(index) })),
        share,
      );
      const read = await store.followLog.readNew(reader, shard, count, share);
      const rest = await store.followLog.readNew(reader, shard, 100);
      const workspacesOf = (entries: readonly { readonly workspaceId: string }[] | undefined) =>
        entries?.map(({ workspaceId }) => workspaceId);
      expect(workspacesOf(read?.entries)).toEqual(workspacesOf(expected.fitting));
      expect(workspacesOf(read?.parked)).toEqual(workspacesOf(expected.parked));
      expect(rest?.entries).toHaveLength(Math.max(0, posted.length - count));
    }),
    { numRuns: many(60) },
  );
});
