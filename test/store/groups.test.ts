import { GROUP_IDLE_MS, GROUPS_MAX } from "../../core/domain/bounds";
import { enterGroup } from "../../core/operations/follow";
import { listGroups, removeIdleGroups } from "../../core/operations/groups";
import type { GroupOpener } from "../../core/ports/follow-log";
import type { Member } from "../../core/ports/leases";
import { REGISTRY_SHARD } from "../../core/store/keys";
import { asList, asText } from "../../core/store/redis/reply";
import { startTestRedis, type TestRedis } from "../harness/redis";
import {
  addWorkspace,
  evaluate,
  inbound,
  openTestStore,
  stopClock,
  redisNowUs,
  type TestStore,
} from "../harness/store";

let redis: TestRedis;
let store: TestStore;
beforeEach(async () => {
  redis = await startTestRedis(["--appendfsync", "no"]);
  store = await openTestStore(redis.url);
});
afterEach(async () => {
  await store.close();
  await redis.close();
});

const opener = (tokenName: string, groupsMax = 32): GroupOpener => ({ tokenName, groupsMax });
const GAME = opener("game");
const names = (count: number, prefix = "g") => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
let members = 0;
const member = (group: string): Member => ({ group, name: "c", token: `token-${++members}` });
const shards = () => Array.from({ length: store.keys.shards }, (_, shard) => store.keys.prefix(shard));

/** Creates groups in every log, as releases before the registry of groups did. */
async function openAsBefore(groups: readonly string[]): Promise<void> {
  const script =
    "for _, name in ipairs(ARGV) do redis.call('XGROUP', 'CREATE', KEYS[1], name, '$', 'MKSTREAM') end";
  for (const prefix of shards()) await evaluate(store, script, [`${prefix}:in`], ...groups);
}

/** Returns the names of the groups of the logs. All logs must have the same groups. */
async function inLogs(): Promise<readonly string[]> {
  const calls = shards().map((prefix) => store.functions.call("group_names", prefix, []));
  const [first, ...others] = (await Promise.all(calls)).map((reply) => asList(reply).map(asText));
  for (const other of others) expect(other).toEqual(first);
  return first ?? [];
}
const inRegistry = async () => (await store.groups.refresh()).map(({ group }) => group).toSorted();

async function removeIdle(): Promise<readonly string[]> {
  const removed: string[] = [];
  await removeIdleGroups(store.groups, (group) => removed.push(group));
  return removed.toSorted();
}

/** Begins the removal of a group, like a call of `remove` that fails halfway. Returns the mark of the removal. */
async function beginRemoval(group: string): Promise<string> {
  const registry = store.keys.prefix(REGISTRY_SHARD);
  const [marked] = asList(await store.functions.call("begin_removal", registry, [group, "0"]));
  return asText(marked);
}

/** Stops the clock. Returns a function that advances the clock by `ms`. */
async function clock() {
  let us = await redisNowUs(store);
  const set = await stopClock(store);
  await set(us);
  return (ms: number) => set((us += ms * 1_000));
}

describe("the number of groups", () => {
  // time: ordering
  test("the number of groups never exceeds a token's share or the total bound, even if two cores open groups at the same time", async () => {
    const other = await openTestStore(redis.url);
    const open = async (token: GroupOpener, prefix: string) => {
      const opening = names(40, prefix).map((group, i) =>
        (i % 2 ? store : other).followLog.open(group, token),
      );
      const results = await Promise.all(opening);
      const count = (result: string) => results.filter((each) => each === result).length;
      return [count("opened"), count("token-full"), count("all-full")];
    };
    const limited = await open(opener("limited", 4), "limited.");
    const one = await open(opener("one"), "one.");
    const two = await open(opener("two"), "two.");
    await other.close();
    expect({ limited, one, two }).toEqual({ limited: [4, 36, 0], one: [32, 8, 0], two: [28, 0, 12] });
    expect(await store.followLog.open("three", opener("three"))).toBe("all-full");
    expect([await inRegistry(), await inLogs()].map(({ length }) => length)).toEqual([
      GROUPS_MAX,
      GROUPS_MAX,
    ]);
    // The bound does not affect streams of groups that exist.
    expect(await store.followLog.open("one.0", opener("one"))).toBe("opened");
    const [full] = (await inLogs()).filter((group) => group.startsWith("two."));
    expect(await store.groups.remove(full ?? "", 0)).toBe("removed");
    expect(await store.followLog.open("three", opener("three"))).toBe("opened");
  });

  test("the number of groups does not grow when a stream is rejected, and the stream is not left in its group", async () => {
    expect(await enterGroup(store.followLog, member("a"), opener("t", 1))).toBe("opened");
    expect(await enterGroup(store.followLog, member("b"), opener("t", 1))).toBe("token-full");
    expect(await inLogs()).toEqual(["a"]);
    const key = `${store.keys.prefix(store.keys.shard("b"))}:members:b`;
    expect(await store.redis.command(key, ["EXISTS", key])).toBe(0);
  });
});

describe("groups that an older release opened", () => {
  test("groups that an older release opened still work, and are added to the registry of groups, even if there are too many groups", async () => {
    await openAsBefore(names(70));
    expect(await store.followLog.open("g7", opener("limited", 1))).toBe("opened");
    expect(await store.followLog.open("g8", opener("limited", 1))).toBe("opened");
    expect(await store.followLog.open("new", opener("limited", 1))).toBe("token-full");
    const groups = await store.groups.refresh();
    expect(groups).toHaveLength(70);
    expect(groups.find(({ group }) => group === "g7")?.tokenName).toBe("limited");
    expect(groups.find(({ group }) => group === "g9")?.tokenName).toBeUndefined();
    expect(await store.followLog.open("new", GAME)).toBe("all-full");
    expect(await store.followLog.open("g9", GAME)).toBe("opened");
    expect((await store.groups.refresh()).find(({ group }) => group === "g9")?.tokenName).toBe("game");
  });

  test("groups that an older release opened keep their positions in the log", async () => {
    await openAsBefore(["old"]);
    const record = await addWorkspace(store);
    await store.inboundLog.append(inbound(record, "1"));
    await store.followLog.open("old", GAME);
    const [listed] = await listGroups(store);
    expect(listed).toMatchObject({ group: "old", tokenName: "game", unread: 1, unacked: 0 });
  });

  test("a scrape of the metrics reads at most 64 groups of a shard, even if older releases have opened more", async () => {
    await openAsBefore(names(70));
    expect((await store.backlog.read(REGISTRY_SHARD)).groups).toHaveLength(GROUPS_MAX);
  });

  // time: controlled
  test("groups that an older release opened are removed like others", async () => {
    const pass = await clock();
    await openAsBefore(names(70));
    expect(await removeIdle()).toEqual([]);
    await pass(GROUP_IDLE_MS);
    expect(await removeIdle()).toEqual(names(70).toSorted());
    expect([await inLogs(), await inRegistry()]).toEqual([[], []]);
  });
});

// time: controlled
describe("a group without members", () => {
  test("a group without members is removed after 24 hours; a group with a member is never removed", async () => {
    const pass = await clock();
    const held = member("held");
    for (const each of [held, member("idle")]) await enterGroup(store.followLog, each, GAME);
    await pass(GROUP_IDLE_MS - 1);
    await store.followLog.join(held, false);
    expect(await removeIdle()).toEqual([]);
    await pass(1);
    expect(await removeIdle()).toEqual(["idle"]);
    expect(await inLogs()).toEqual(["held"]);
    await pass(GROUP_IDLE_MS);
    await store.followLog.join(held, false);
    expect(await removeIdle()).toEqual([]);
    await pass(GROUP_IDLE_MS - 1);
    expect([await removeIdle(), await inRegistry()]).toEqual([[], ["held"]]);
    await pass(1);
    expect([await removeIdle(), await inRegistry(), await inLogs()]).toEqual([["held"], [], []]);
  });

  test("a group without members is not removed if a stream opens it again within 24 hours", async () => {
    const pass = await clock();
    await enterGroup(store.followLog, member("g"), GAME);
    await pass(GROUP_IDLE_MS - 1);
    await enterGroup(store.followLog, member("g"), GAME);
    await pass(GROUP_IDLE_MS - 1);
    expect([await removeIdle(), await inLogs()]).toEqual([[], ["g"]]);
  });

  test.each([
    ["a day ago, which counts as an idle group", GROUP_IDLE_MS, ["g"]],
    ["now, which does not count as an idle group", 0, []],
  ])(
    "a group whose removal failed halfway is removed by the next attempt; the last member left %s",
    async (_when, ms, idle) => {
      const pass = await clock();
      await store.followLog.open("g", GAME);
      await pass(ms);
      const marked = await beginRemoval("g");
      await store.functions.call("drop_group", store.keys.prefix(3), ["g", marked]);
      expect(await removeIdle()).toEqual(idle);
      expect([await inLogs(), await inRegistry()]).toEqual([[], []]);
    },
  );
});

describe("the removal of a group", () => {
  test("the removal of a group has no effect on a group with a member, or on an unknown group", async () => {
    await enterGroup(store.followLog, member("g"), GAME);
    expect(await store.groups.remove("g", 0)).toBe("held");
    expect(await store.groups.remove("unknown", 0)).toBe("missing");
    expect([await inLogs(), await inRegistry()]).toEqual([["g"], ["g"]]);
  });

  test("the removal of a group skips a log in which a stream has opened the group again since the removal began", async () => {
    const registry = store.keys.prefix(REGISTRY_SHARD);
    await store.followLog.open("g", GAME);
    const marked = await beginRemoval("g");
    const [first = "", ...others] = shards();
    await store.functions.call("drop_group", first, ["g", marked]);
    expect(await enterGroup(store.followLog, member("g"), GAME)).toBe("opened");
    for (const prefix of [first, ...others]) await store.functions.call("drop_group", prefix, ["g", marked]);
    await store.functions.call("end_removal", registry, ["g", marked, "0"]);
    expect([await inLogs(), await inRegistry()]).toEqual([["g"], ["g"]]);
  });

  // time: ordering
  test("the removal of a group never removes a group that a stream opens at the same time", async () => {
    for (let i = 0; i < 30; i++) {
      await store.followLog.open("g", GAME);
      const stream = member("g");
      const [entered, ...removed] = await Promise.all([
        (async () => {
          for (let turns = 0; turns < i; turns++) await store.redis.command("", ["PING"]);
          return enterGroup(store.followLog, stream, GAME);
        })(),
        store.groups.remove("g", 0),
        store.groups.remove("g", 0),
      ]);
      expect([entered, removed.length]).toEqual(["opened", 2]);
      expect([i, await inLogs(), await inRegistry()]).toEqual([i, ["g"], ["g"]]);
      await store.followLog.leave(stream);
      await store.groups.remove("g", 0);
    }
  });
});
