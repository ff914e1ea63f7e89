import { randomUUID } from "node:crypto";
import { GROUP_STREAMS_MAX } from "../../core/domain/bounds";
import type { FollowLog, LogEntry } from "../../core/ports/follow-log";
import { LEASE_MS, type Member } from "../../core/ports/leases";
import { asList, asNumber, asText } from "../../core/store/redis/reply";
import { addNeighbour, addWorkspace, inbound, testClock, testStore } from "../harness/store";
import { until } from "../harness/wait";

const store = testStore();
let log: FollowLog;
let members = 0;
beforeAll(() => void (log = store.followLog));

function member(group: string, consumer = "c"): Member {
  return { group, name: consumer, token: `token-${++members}` };
}

/** Acquires a lease, and makes it permanent, so that it does not expire on a slow machine. */
async function hold(reader: Member, shard: number): Promise<void> {
  expect(await log.take(reader, shard)).toBe(true);
  const key = `${store.keys.prefix(shard)}:lease:${reader.group}`;
  await store.redis.command(key, ["PERSIST", key]);
}

/** Opens a group, appends events in one workspace, and acquires the lease of the workspace's shard for a reader. */
async function startReading(group: string, ...events: readonly string[]) {
  await log.open(group);
  const shard = await append(...events);
  const reader = member(group);
  await hold(reader, shard);
  return { shard, reader, stream: streamOf(shard) };
}

function streamOf(shard: number): string {
  return `${store.keys.prefix(shard)}:in`;
}

/** Appends events in one workspace, and returns the workspace's shard. */
async function append(...events: readonly string[]): Promise<number> {
  const record = await addWorkspace(store);
  for (const event of events) await appendTo(record, event);
  return store.keys.shard(record.workspace.id);
}

async function appendTo(record: Awaited<ReturnType<typeof addWorkspace>>, event: string): Promise<void> {
  const append = inbound(record, `${event}-${++members}`, event);
  expect(await store.inboundLog.append(append)).toEqual({ outcome: "stored" });
}

const readNew = async (reader: Member, shard: number, count: number) =>
  (await log.readNew(reader, shard, count))?.entries;
const shown = (entries: readonly LogEntry[] | undefined): readonly string[] | undefined =>
  entries?.map(({ event, attempt }) => `${event.toString()}/${attempt}`);

describe("the lease of a shard", () => {
  test("the lease of a shard is held by one member at a time, until the member releases the lease", async () => {
    const [one, two] = [member("lease"), member("lease")];
    expect(await log.take(one, 0)).toBe(true);
    expect(await log.take(two, 0)).toBe(false);
    expect(await log.take(one, 0)).toBe(true);
    await log.drop(two, 0);
    expect(await log.take(two, 0)).toBe(false);
    await log.drop(one, 0);
    expect(await log.take(two, 0)).toBe(true);
  });

  test("the lease of a shard is separate for each group", async () => {
    expect(await log.take(member("own-1"), 1)).toBe(true);
    expect(await log.take(member("own-2"), 1)).toBe(true);
  });

  // time: controlled
  test("expires unless it is renewed", async () => {
    const [one, two] = [member("lapse"), member("lapse")];
    const key = `${store.keys.prefix(2)}:lease:lapse`;
    const expiresAtMs = async () => asNumber(await store.redis.command(key, ["PEXPIRETIME", key]));
    const asked = Date.now();
    expect(await log.take(one, 2)).toBe(true);
    expect(await expiresAtMs()).toBeGreaterThanOrEqual(asked + LEASE_MS);
    expect(await expiresAtMs()).toBeLessThanOrEqual(Date.now() + LEASE_MS);
    await store.redis.command(key, ["PEXPIRE", key, "0"]);
    expect([await log.take(two, 2), await log.take(one, 2)]).toEqual([true, false]);
  });

  test("the lease of a shard is required for every kind of read", async () => {
    const stranger = member("strangers");
    await log.open("strangers");
    const reads = [
      log.readNew(stranger, 3, 10),
      log.readAgain(stranger, 3, 10, undefined),
      log.readEntries(stranger, 3, ["1-0"]),
    ];
    expect(await Promise.all(reads)).toEqual([undefined, undefined, undefined]);
  });
});

describe("reading", () => {
  test("a read starts with the first event after the group was opened; opening the group again does not change its position", async () => {
    const record = await addWorkspace(store);
    const shard = store.keys.shard(record.workspace.id);
    await appendTo(record, "before");
    await log.open("begin");
    await appendTo(record, "one");
    await log.open("begin");
    await appendTo(record, "two");
    const reader = member("begin");
    await hold(reader, shard);
    expect(shown(await readNew(reader, shard, 1))).toEqual(["one/1"]);
    expect(shown(await readNew(reader, shard, 10))).toEqual(["two/1"]);
    expect(shown(await readNew(reader, shard, 10))).toEqual([]);
  });

  test("a read returns unacked events again to the next holder of the lease, in parts, and increments their attempts", async () => {
    const group = "again";
    const { shard, reader: first } = await startReading(group, "one", "two", "three", "four");
    const second = member(group);
    const read = (await readNew(first, shard, 10)) ?? [];
    await log.ack(group, shard, [read[1]?.entryId ?? ""]);
    await log.drop(first, shard);
    await hold(second, shard);

    const page = await log.readAgain(second, shard, 2, undefined);
    expect(shown(page?.entries)).toEqual(["one/2", "three/2"]);
    const rest = await log.readAgain(second, shard, 2, page?.last);
    expect(shown(rest?.entries)).toEqual(["four/2"]);
    expect(await log.readAgain(second, shard, 2, rest?.last)).toEqual({ entries: [], last: undefined });
    const ids = read.map(({ entryId }) => entryId);
    expect(shown(await log.readEntries(second, shard, ids))).toEqual(["one/3", "three/3", "four/3"]);
  });

  test("a read skips unacked entries that the log no longer contains", async () => {
    const { shard, reader, stream } = await startReading("trimmed", "one", "two");
    const [one] = (await readNew(reader, shard, 10)) ?? [];
    await store.redis.command("", ["XDEL", stream, one?.entryId ?? ""]);
    const page = await log.readAgain(reader, shard, 10, undefined);
    expect(shown(page?.entries)).toEqual(["two/2"]);
  });

  test("a read returns 1,000 entries by their ids in one call, and one call acks them", async () => {
    const group = "many";
    const { shard, reader, stream } = await startReading(group);
    const adds = Array.from({ length: 1_000 }, (_, i) =>
      store.redis.command("", ["XADD", stream, "*", "w", "w", "e", `${i}`]),
    );
    await Promise.all(adds);
    const ids = ((await readNew(reader, shard, 1_000)) ?? []).map(({ entryId }) => entryId);
    expect(await log.readEntries(reader, shard, ids)).toHaveLength(1_000);
    await log.ack(group, shard, ids);
    expect(await log.readEntries(reader, shard, ids)).toEqual([]);
  });

  test("a read recreates a group that Redis lost, and then starts with the first event in the log", async () => {
    const { shard, reader, stream } = await startReading("lost", "one");
    await store.redis.command("", ["DEL", stream]);
    expect(await log.readAgain(reader, shard, 10, undefined)).toEqual({ entries: [], last: undefined });
    await store.redis.command("", ["XADD", stream, "*", "w", "w", "e", "two"]);
    expect(shown(await readNew(reader, shard, 10))).toEqual(["two/1"]);
  });

  test("a read returns only the events of the workspaces in the member's scope, and acks all other events", async () => {
    const group = "scoped";
    await log.open(group);
    await log.open("unscoped");
    const inside = await addWorkspace(store);
    const outside = await addNeighbour(store, inside);
    const shard = store.keys.shard(inside.workspace.id);
    const both = new Set([inside.workspace.id, outside.workspace.id]);
    const all = { ...member(group), workspaces: both };
    const reader = { ...all, workspaces: new Set([inside.workspace.id, randomUUID()]) };
    const pending = async () =>
      asNumber(asList(await store.redis.command("", ["XPENDING", streamOf(shard), group]))[0] ?? null);
    await hold(reader, shard);
    for (const event of ["one", "two", "three"]) {
      await appendTo(inside, `in ${event}`);
      await appendTo(outside, `out ${event}`);
    }

    const first = await log.readNew(reader, shard, 4);
    expect([shown(first?.entries), first?.isEnd]).toEqual([["in one/1", "in two/1"], false]);
    expect(await pending()).toBe(2);
    // The reader `all` stands for a core whose settings give the token a wider scope, so it also gets an event outside
    // the scope of `reader`.
    expect(shown(await readNew(all, shard, 10))).toEqual(["in three/1", "out three/1"]);
    expect(await pending()).toBe(4);
    const again = await log.readAgain(reader, shard, 10, undefined);
    expect(shown(again?.entries)).toEqual(["in one/2", "in two/2", "in three/2"]);
    expect(await pending()).toBe(3);
    const ids = again?.entries.map(({ entryId }) => entryId) ?? [];
    expect(shown(await log.readEntries(reader, shard, ids))).toEqual(["in one/3", "in two/3", "in three/3"]);
    expect(await log.readNew(reader, shard, 10)).toEqual({ entries: [], isEnd: true });

    const unlimited = member("unscoped");
    await hold(unlimited, shard);
    expect(await readNew(unlimited, shard, 10)).toHaveLength(6);
  });

  test("a read can wait for a wake, which contains the shard of an appended event; a stopped listener gets no more wakes", async () => {
    const woken: number[] = [];
    const stop = log.onWake((shard) => woken.push(shard));
    const shard = await append("one");
    await until("the wake has arrived", () => woken.includes(shard));
    stop();
    woken.length = 0;
    const other: number[] = [];
    const stopOther = log.onWake((each) => other.push(each));
    const later = await append("two");
    await until("the other wake has arrived", () => other.includes(later));
    stopOther();
    expect(woken).toEqual([]);
  });
});

describe("by the clock of the store, a dead letter, and the register of a group:", () => {
  const clock = testClock(store);

  // time: controlled
  test("a dead letter is acked, and reported to operators at most once in five minutes for each workspace", async () => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    const shard = store.keys.shard(id);
    await log.open("dead");
    for (const event of ["1", "2", "3"]) await store.inboundLog.append(inbound(record, event, event));
    const reader = member("dead");
    await hold(reader, shard);
    const read = (await log.readNew(reader, shard, 10))?.entries.filter(
      ({ workspaceId }) => workspaceId === id,
    );
    const reports = async () =>
      (await store.operatorOutbox.read(shard, undefined)).filter(({ workspaceId }) => workspaceId === id);
    for (const { entryId } of read ?? []) {
      const letter = { shard, entryId, workspaceId: id, attempt: 1, reason: `reason ${entryId}` };
      await log.deadLetter("dead", letter);
      await log.deadLetter("dead", letter);
      await clock.pass(151_000_000);
    }
    const report = (at: number) => ({
      type: "event.dead_lettered",
      reason: `reason ${read?.[at]?.entryId ?? ""}`,
      deadLetter: { group: "dead", attempt: 1 },
    });
    expect(await reports()).toMatchObject([report(0), report(2)]);
    expect(await log.readAgain(reader, shard, 10, undefined)).toMatchObject({ entries: [] });
  });

  /** Joins a group; returns the names of all live members, or the reason why the join failed. */
  async function namesAfter(...join: Parameters<typeof log.join>) {
    const alive = await log.join(...join);
    return typeof alive === "string" ? alive : alive.names;
  }

  test("the register of a group lists the live members, ordered by name", async () => {
    const [b, a] = [member("names", "b"), member("names", "a")];
    expect(await namesAfter(b, true)).toEqual(["b"]);
    expect(await namesAfter(a, true)).toEqual(["a", "b"]);
    expect(await namesAfter(b, false)).toEqual(["a", "b"]);
    await log.leave(a);
    expect(await namesAfter(b, false)).toEqual(["b"]);
  });

  test("the register of a group gives a consumer's place in the group to its newer stream, which keeps the place when the older stream leaves", async () => {
    const [older, newer] = [member("place"), member("place")];
    await log.join(older, true);
    expect(await namesAfter(newer, true)).toEqual(["c"]);
    expect(await log.join(older, false)).toBe("replaced");
    await log.leave(older);
    expect(await namesAfter(newer, false)).toEqual(["c"]);
  });

  test("the register of a group gives a consumer's place in the group to the stream that started later, even if the older stream joins last", async () => {
    const [older, newer] = [member("late"), member("late")];
    await log.join(older, true, 500);
    expect(await namesAfter(newer, true, 200)).toEqual(["c"]);
    expect(await log.join(older, true, 60_000)).toBe("replaced");
    expect(await namesAfter(newer, true, 900)).toEqual(["c"]);
    expect(await namesAfter(member("late"), true, 0)).toEqual(["c"]);
  });

  test("the register of a group accepts entries from older releases, which do not contain the stream's age", async () => {
    const [known, newer] = [member("ageless"), member("ageless")];
    const key = `${store.keys.prefix(store.keys.shard(known.group))}:members:${known.group}`;
    await store.redis.command(key, ["HSET", key, known.name, `${known.token} ${clock.us / 1_000}`]);
    expect(await log.join(newer, false, 0)).toBe("replaced");
    expect(await namesAfter(newer, true, 60_000)).toEqual(["c"]);
  });

  test("a group with the maximum number of streams accepts only a newer stream of a registered consumer", async () => {
    const all = Array.from({ length: GROUP_STREAMS_MAX }, (_, i) => member("full", `c${i}`));
    for (const each of all) await log.join(each, true);
    const further = member("full", "further");
    expect(await log.join(further, true)).toBe("full");
    expect(await namesAfter(member("full", "c7"), true)).toHaveLength(GROUP_STREAMS_MAX);
    await log.leave(all[0] ?? further);
    expect(await namesAfter(further, true)).toContain("further");
    expect(await log.join(all[0] ?? further, false)).toBe("full");
    // Members that were silent for longer than a lease lasts do not count toward the maximum.
    await clock.pass((LEASE_MS + 1) * 1_000);
    expect(await namesAfter(all[0] ?? further, false)).toEqual(["c0"]);
  });

  test("core does not read the register when a member reports that it is alive, unless the set of live members has changed", async () => {
    const [a, b] = [member("beats", "a"), member("beats", "b")];
    await log.join(a, true);
    await log.join(b, true);
    const reads = async () =>
      /cmdstat_hgetall:calls=\d+/.exec(asText(await store.redis.command("", ["INFO", "commandstats"])))?.[0];
    const before = await reads();
    for (let beat = 0; beat < 3; beat++) {
      await clock.pass(750_000);
      for (const each of [a, b]) expect(await namesAfter(each, false)).toEqual(["a", "b"]);
    }
    expect(await reads()).toBe(before);
  });

  test("the list of members is correct even immediately after a core of an older release has added or removed a member", async () => {
    const [a, b] = [member("releases", "a"), member("releases", "b")];
    await log.join(a, true);
    const key = `${store.keys.prefix(store.keys.shard(a.group))}:members:${a.group}`;
    await store.redis.command(key, ["HSET", key, "b", `${b.token} 0 ${clock.us / 1_000}`]);
    expect(await namesAfter(a, false)).toEqual(["a", "b"]);
    await store.redis.command(key, ["HDEL", key, "b"]);
    expect(await namesAfter(a, false)).toEqual(["a"]);
  });

  test("the register of a group reports whether a live member runs an older release, whose entries do not contain a rule number", async () => {
    const [a, b] = [member("rules", "a"), member("rules", "b")];
    expect(await log.join(a, true)).toEqual({ names: ["a"], hasOlder: false });
    const key = `${store.keys.prefix(store.keys.shard(a.group))}:members:${a.group}`;
    await store.redis.command(key, ["HSET", key, "older", `${member("rules").token} 0 ${clock.us / 1_000}`]);
    for (let beat = 0; beat < 2; beat++) {
      expect(await log.join(a, false)).toEqual({ names: ["a", "older"], hasOlder: true });
    }
    expect(await log.join(b, true)).toEqual({ names: ["a", "b", "older"], hasOlder: true });
    await store.redis.command(key, ["HDEL", key, "older"]);
    expect(await log.join(b, false)).toEqual({ names: ["a", "b"], hasOlder: false });
  });

  test("the register of a group gives a consumer's place in the group to its newer stream, even if an older release stored the older stream without a rule number", async () => {
    const [known, newer] = [member("ruleless"), member("ruleless")];
    const key = `${store.keys.prefix(store.keys.shard(known.group))}:members:${known.group}`;
    await store.redis.command(key, ["HSET", key, known.name, `${known.token} 500 ${clock.us / 1_000}`]);
    expect(await log.join(newer, true, 0)).toEqual({ names: ["c"], hasOlder: false });
    expect(await log.join(newer, false, 0)).toEqual({ names: ["c"], hasOlder: false });
  });

  // time: controlled
  test("the register of a group removes a member that is silent for longer than a lease lasts", async () => {
    const [silent, alive] = [member("silent", "a"), member("silent", "b")];
    await log.join(silent, true);
    await clock.pass(LEASE_MS * 1_000);
    expect(await namesAfter(alive, true)).toEqual(["a", "b"]);
    await clock.pass(1_000);
    expect(await namesAfter(alive, false)).toEqual(["b"]);
    expect(await namesAfter(silent, false)).toEqual(["a", "b"]);
  });
});
