import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import type { Workspace } from "../../core/domain/workspace";
import { encodeDelivery } from "../../core/store/delivery-log";
import { logTimes } from "../harness/log-time";
import { deliveryOf } from "../harness/push-queue";
import { startTestRedis } from "../harness/redis";
import {
  addWorkspace,
  keyOf,
  openTestStore,
  publication,
  readPage,
  testClock,
  testStore,
  texts,
  type TestStore,
} from "../harness/store";

const store = testStore();
const clock = testClock(store);
const times = logTimes(store, clock);
beforeAll(times.setAhead);

const MINUTE_US = 60_000_000;
const PUSH = { targetUrl: "https://bridge.example/events" };
const ALL = new Set(WORKSPACE_STATES);
const NONE = Object.fromEntries(WORKSPACE_STATES.map((state) => [state, 0]));

// Each test starts with an empty index of states.
afterEach(async () => {
  const page = await store.workspaceStates.list(1_000, undefined, ALL);
  for (const id of page?.ids ?? []) {
    const record = await store.workspaces.read(id);
    if (record !== undefined) await store.workspaces.delete(record.workspace);
  }
});

const add = async (fields: Partial<Workspace> = {}, at = store): Promise<Workspace> =>
  (await addWorkspace(at, fields)).workspace;
const addPushed = (fields: Partial<Workspace> = {}) => add({ ...PUSH, ...fields });

async function log({ id }: Workspace, result: Parameters<typeof deliveryOf>[2], at = store): Promise<void> {
  if (at === store) await times.apply(id);
  await at.deliveryLog.append(id, deliveryOf({ eventId: "evt_1", eventType: "message.create" }, 1, result));
}

async function poll({ id }: Workspace, at = store): Promise<void> {
  const record = await at.workspaces.read(id);
  if (record === undefined) throw new Error("no such workspace");
  await readPage(at, { record, page: { start: { from: "latest" }, limit: 10 } });
}

const publish = ({ id }: Workspace) => store.outboundEvents.publish(publication(id, "event"));
const look = ({ id }: Workspace) => store.pollWatch.findFailing(store.keys.shard(id));

async function change({ id }: Workspace, fields: Partial<Workspace>): Promise<void> {
  const current = await store.workspaces.read(id);
  if (current === undefined) throw new Error("no such workspace");
  expect(await store.workspaces.replace({ ...current.workspace, ...fields }, current.version)).toBe(true);
}

/** Returns the states and the ids of all workspaces, in the order of the list. */
async function listed(at: TestStore = store): Promise<readonly string[]> {
  const page = await at.workspaceStates.list(1_000, undefined, ALL);
  const standings = await at.workspaceStates.read(page?.ids ?? []);
  return standings.map(({ state, id }) => `${state} ${id}`);
}

// time: controlled
test("the list begins with the failing workspaces, newest outage first; the other states follow by urgency, newest workspace first", async () => {
  const native = await add({ platform: "native", connected: false, secrets: [] });
  const disconnected = await add({ connected: false });
  const [older, newer] = [await add({ createdAtMs: 1_000 }), await add({ createdAtMs: 2_000 })];
  const healthy = await addPushed();
  await log(healthy, "success");
  const idle = await add();
  await poll(idle);
  await clock.pass(2 * MINUTE_US);
  const recovered = await addPushed();
  await log(recovered, "timeout");
  await log(recovered, "success");
  const degraded = await addPushed();
  for (const result of ["timeout", "success", "timeout", "success"] as const) await log(degraded, result);
  const [first, second] = [await addPushed({ createdAtMs: 9_000 }), await addPushed({ createdAtMs: 8_000 })];
  await log(first, "timeout");
  await clock.pass(1_000);
  await log(second, "dns");
  await clock.pass(1_000);
  await log(first, "timeout");
  const expected = [
    `failing ${second.id}`,
    `failing ${first.id}`,
    `degraded ${degraded.id}`,
    `recovered ${recovered.id}`,
    `idle ${idle.id}`,
    `healthy ${healthy.id}`,
    `unused ${newer.id}`,
    `unused ${older.id}`,
    `disconnected ${disconnected.id}`,
    `native ${native.id}`,
  ];
  expect(await listed()).toEqual(expected);
  const counts = {
    failing: 2,
    degraded: 1,
    recovered: 1,
    idle: 1,
    healthy: 1,
    unused: 2,
    disconnected: 1,
    native: 1,
  };
  expect(await store.workspaceStates.count()).toEqual(counts);
  const only = new Set([first.id, newer.id, healthy.id]);
  expect(await store.workspaceStates.count(only)).toEqual({ ...NONE, failing: 1, healthy: 1, unused: 1 });
  for (const scope of [undefined, new Set(expected.map((line) => line.split(" ")[1] ?? ""))]) {
    const pages: string[] = [];
    let after: string | undefined;
    do {
      const page = await store.workspaceStates.list(3, after, ALL, scope);
      pages.push(...(page?.ids ?? []));
      after = page?.next;
    } while (after !== undefined);
    expect(pages).toEqual(expected.map((line) => line.split(" ")[1]));
    const some = await store.workspaceStates.list(2, undefined, new Set(["recovered", "unused"]), scope);
    expect(some?.ids).toEqual([recovered.id, newer.id]);
    const rest = await store.workspaceStates.list(2, some?.next, new Set(["recovered", "unused"]), scope);
    expect(rest).toEqual({ ids: [older.id], next: undefined });
  }
});

test("a page token is a place in the list: workspaces whose state does not change are neither skipped nor repeated while others move", async () => {
  const all = await Promise.all(Array.from({ length: 9 }, (_, i) => addPushed({ createdAtMs: 1_000 + i })));
  const newest = all.toReversed();
  const first = await store.workspaceStates.list(3, undefined, ALL);
  expect(first?.ids).toEqual(newest.slice(0, 3).map(({ id }) => id));
  // One workspace of the first page and one of the last page begin to fail. One workspace of each of these pages is
  // deleted.
  await log(newest[1] as Workspace, "timeout");
  await log(newest[7] as Workspace, "timeout");
  await store.workspaces.delete(newest[2] as Workspace);
  await store.workspaces.delete(newest[8] as Workspace);
  const second = await store.workspaceStates.list(3, first?.next, ALL);
  expect(second?.ids).toEqual(newest.slice(3, 6).map(({ id }) => id));
  const third = await store.workspaceStates.list(3, second?.next, ALL);
  expect(third).toEqual({ ids: [newest[6]?.id], next: undefined });
});

test.each(["x", "1700000000000:0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11", "80:x:0b8c3a52"])(
  "%j is not a page token",
  async (token) => {
    expect(await store.workspaceStates.list(10, token, ALL)).toBeUndefined();
  },
);

// time: controlled
test.each<
  [string, Partial<Workspace>, (workspace: Workspace) => Promise<unknown>, readonly WorkspaceState[]]
>([
  [
    "is polled, waits, fails and is polled again",
    {},
    async (workspace) => {
      await poll(workspace);
      note(await stateOf(workspace));
      await clock.pass(MINUTE_US + 1_000);
      note(await stateOf(workspace));
      await publish(workspace);
      note(await stateOf(workspace));
      await clock.pass(5 * MINUTE_US);
      await look(workspace);
      note(await stateOf(workspace));
      await poll(workspace);
      note(await stateOf(workspace));
      for (let minutes = 0; minutes < 60; minutes++) {
        await clock.pass(MINUTE_US);
        await poll(workspace);
      }
      note(await stateOf(workspace));
    },
    ["unused", "healthy", "idle", "degraded", "failing", "recovered", "healthy"],
  ],
  [
    "gets a target URL, fails, loses the URL, is disconnected and is connected again",
    {},
    async (workspace) => {
      await change(workspace, PUSH);
      note(await stateOf(workspace));
      await log(workspace, "status");
      note(await stateOf(workspace));
      await change(workspace, { targetUrl: "" });
      note(await stateOf(workspace));
      await change(workspace, { ...PUSH, connected: false });
      note(await stateOf(workspace));
      await change(workspace, { connected: true });
      note(await stateOf(workspace));
    },
    ["unused", "unused", "failing", "unused", "disconnected", "failing"],
  ],
  [
    "is too slow, and then fast enough",
    PUSH,
    async (workspace) => {
      await log(workspace, "success");
      note(await stateOf(workspace));
      await log(workspace, "overloaded");
      note(await stateOf(workspace));
      await clock.pass(5 * MINUTE_US + 1_000_000);
      note(await stateOf(workspace));
    },
    ["unused", "healthy", "degraded", "healthy"],
  ],
])("a workspace that %s is in the list of each of its states", async (_what, fields, live, states) => {
  const workspace = await add(fields);
  seen = [await stateOf(workspace)];
  await live(workspace);
  expect(seen).toEqual(states);
  await store.workspaces.delete(workspace);
  expect(await store.workspaceStates.count()).toEqual(NONE);
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  expect(await texts(store, "ZRANGE", `${prefix}:turns`, "0", "-1")).not.toContain(workspace.id);
});

let seen: WorkspaceState[] = [];
const note = (state: WorkspaceState): number => seen.push(state);

/** Returns the state whose list contains the workspace. */
async function stateOf({ id }: Workspace): Promise<WorkspaceState> {
  const inLists: WorkspaceState[] = [];
  for (const state of WORKSPACE_STATES) {
    const page = await store.workspaceStates.list(1_000, undefined, new Set([state]));
    if (page?.ids.includes(id) === true) inLists.push(state);
  }
  expect(inLists).toHaveLength(1);
  // This call reads the state of the workspace, which would correct the index, so it comes last.
  const counts = await store.workspaceStates.count(new Set([id]));
  const [state = "native"] = inLists;
  expect(counts).toEqual({ ...NONE, [state]: 1 });
  return state;
}

// time: controlled
test("polls and accepted attempts that do not change the state do not write the index", async () => {
  const [polled, pushed] = [await add(), await addPushed()];
  await poll(polled);
  await log(pushed, "success");
  const turnOf = async ({ id }: Workspace) => [
    String(await store.redis.command("", ["ZSCORE", `${store.keys.prefix(store.keys.shard(id))}:turns`, id])),
  ];
  const dump = async () =>
    Promise.all(
      store.keys.prefixes
        .flatMap((prefix) => [
          texts(store, "ZRANGE", `${prefix}:states`, "0", "-1"),
          texts(store, "ZRANGE", `${prefix}:turns`, "0", "-1"),
        ])
        .concat([polled, pushed].map(turnOf)),
    );
  const before = await dump();
  await clock.pass(MINUTE_US - 1_000_000);
  await poll(polled);
  await log(pushed, "success");
  expect(await dump()).toEqual(before);
  await clock.pass(2_000_000);
  await Promise.all([look(polled), look(pushed)]);
  expect(new Set(await listed())).toEqual(new Set([`healthy ${polled.id}`, `healthy ${pushed.id}`]));
});

/** Removes from Redis what a core of an older release does not write. */
async function makeOld(workspace: Workspace): Promise<void> {
  const prefix = store.keys.prefix(store.keys.shard(workspace.id));
  const fields = ["attempted", "failed", "accepted", "failedbefore", "overloaded", "listed", "created"];
  await store.redis.command("", ["HDEL", keyOf(store, workspace.id, "st"), ...fields]);
  for (const entry of await texts(store, "ZRANGE", `${prefix}:states`, "0", "-1")) {
    if (entry.endsWith(workspace.id)) await store.redis.command("", ["ZREM", `${prefix}:states`, entry]);
  }
  await store.redis.command("", ["ZREM", `${prefix}:turns`, workspace.id]);
}

/** Logs a delivery as a core of an older release does. */
async function logOld({ id }: Workspace, result: Parameters<typeof deliveryOf>[2]): Promise<void> {
  await times.apply(id);
  const delivery = encodeDelivery(deliveryOf({ eventId: "evt_1", eventType: "message.create" }, 1, result));
  await store.redis.command("", ["XADD", keyOf(store, id, "log"), "*", "d", delivery]);
}

// time: controlled
test("workspaces of an older release are immediately in the list and the counts, with the states that follow from their logs", async () => {
  const polled = await add();
  await poll(polled);
  const unused = await add();
  const pushed = new Map<WorkspaceState, Workspace>();
  const logs = {
    failing: ["success", "timeout"],
    degraded: ["timeout", "success", "timeout", "success"],
    recovered: ["timeout", "success"],
    healthy: ["success", "expired"],
    unused: ["disconnected"],
  } as const;
  for (const [state, results] of Object.entries(logs)) {
    const workspace = await addPushed();
    for (const result of results) await logOld(workspace, result);
    pushed.set(state as WorkspaceState, workspace);
  }
  const native = await add({ platform: "native", connected: false, secrets: [] });
  for (const workspace of [polled, unused, native, ...pushed.values()]) await makeOld(workspace);
  for (const prefix of store.keys.prefixes) {
    await store.redis.command("", ["DEL", `${prefix}:states`, `${prefix}:turns`, `${prefix}:statechecks`]);
  }
  const counts = { ...NONE, failing: 1, degraded: 1, recovered: 1, healthy: 2, unused: 2, native: 1 };
  expect(await store.workspaceStates.count()).toEqual(counts);
  const lines = await listed();
  expect(lines).toHaveLength(8);
  for (const [state, { id }] of pushed) expect(lines).toContain(`${state} ${id}`);
  expect(lines).toContain(`native ${native.id}`);
  expect(lines).toContain(`healthy ${polled.id}`);
});

// time: controlled
test("while cores of an older release run, the list stays complete, and the check of all states corrects it", async () => {
  const [deleted, created, failing, kept] = [await add(), await add(), await addPushed(), await addPushed()];
  for (const each of [failing, kept]) await log(each, "success");
  await store.workspaceStates.count();
  // A core of an older release creates, deletes, and logs a failed attempt.
  await makeOld(created);
  const old = { id: deleted.id, prefix: store.keys.prefix(store.keys.shard(deleted.id)) };
  for (const entry of await texts(store, "ZRANGE", `${old.prefix}:all`, "0", "-1")) {
    if (entry.endsWith(old.id)) await store.redis.command("", ["ZREM", `${old.prefix}:all`, entry]);
  }
  await store.redis.command("", ["DEL", keyOf(store, old.id, "st"), keyOf(store, old.id, "ws")]);
  await logOld(failing, "timeout");
  expect(await store.workspaceStates.count()).toMatchObject({ unused: 1 });
  await clock.pass(11 * MINUTE_US);
  for (let calls = 0; calls < 3; calls++) await look(failing);
  expect(await store.workspaceStates.count()).toEqual({ ...NONE, failing: 1, healthy: 1, unused: 1 });
  expect((await store.workspaceStates.list(1, undefined, ALL))?.ids).toEqual([failing.id]);
});

test("after a crash and a restart of Redis, the index contains the same states as before", async () => {
  const redis = await startTestRedis(["--appendfsync", "always"]);
  let restarted = await openTestStore(redis.url);
  const workspaces = [await add({}, restarted), await add(PUSH, restarted), await add(PUSH, restarted)];
  const [polled, healthy, failing] = workspaces as [Workspace, Workspace, Workspace];
  for (let polls = 0; polls < 3; polls++) await poll(polled, restarted);
  await log(healthy, "success", restarted);
  await log(failing, "timeout", restarted);
  const before = await listed(restarted);
  const counts = await restarted.workspaceStates.count();
  await restarted.close();
  await redis.restart();
  restarted = await openTestStore(redis.url);
  expect(await restarted.workspaceStates.count()).toEqual(counts);
  expect(await listed(restarted)).toEqual(before);
  expect(before[0]).toBe(`failing ${failing.id}`);
  await restarted.close();
  await redis.close();
});

test("one call recomputes a bounded number of states, however many are due", async () => {
  const turns = `${store.keys.prefix(3)}:turns`;
  const due = async () => Number(await store.redis.command(turns, ["ZCARD", turns]));
  const gone = Array.from({ length: 900 }, (_, i) => ["1", `workspace-${i}`]).flat();
  await store.redis.command(turns, ["ZADD", turns, ...gone]);
  await store.workspaceStates.count();
  expect(await due()).toBe(875);
  await store.workspaceStates.list(10, undefined, ALL);
  expect(await due()).toBe(850);
  await store.pollWatch.findFailing(3);
  expect(await due()).toBe(650);
  await store.redis.command(turns, ["DEL", turns]);
});

test("a workspace that does not exist has no state and is in no list, not even for a token that is limited to this workspace", async () => {
  const { id } = await add();
  const deleted = "00000000-0000-4000-8000-000000000009";
  expect((await store.workspaceStates.read([deleted, id])).map((standing) => standing.id)).toEqual([id]);
  const only = new Set([deleted, id]);
  expect(await store.workspaceStates.list(10, undefined, ALL, only)).toEqual({ ids: [id], next: undefined });
  const counts = await store.workspaceStates.count(only);
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(1);
});

test("the index becomes complete even if the list of all workspaces contains the id of a workspace that does not exist", async () => {
  const { id } = await add();
  const prefix = store.keys.prefixOf(id);
  const all = `${prefix}:all`;
  await store.redis.command(all, ["ZADD", all, "0", "0000000000001:00000000-0000-4000-8000-000000000000"]);
  expect(await listed()).toEqual([`unused ${id}`]);
  expect(await store.redis.command(all, ["ZCARD", all])).toBe(1);
});

// time: controlled
test("if a workspace fails before and after a change of its mode, the start of its outage is that of the outage in the current mode", async () => {
  const workspace = await addPushed();
  const sinceOf = async () => (await store.workspaceStates.read([workspace.id]))[0];
  await log(workspace, "timeout");
  const pushed = await sinceOf();
  await change(workspace, { targetUrl: "" });
  await publish(workspace);
  await clock.pass(6 * MINUTE_US);
  await look(workspace);
  const polled = await sinceOf();
  expect([pushed?.state, polled?.state]).toEqual(["failing", "failing"]);
  expect(polled?.sinceMs).toBeGreaterThan(pushed?.sinceMs ?? Infinity);
  await change(workspace, PUSH);
  expect(await sinceOf()).toMatchObject({ state: "failing", sinceMs: pushed?.sinceMs });
});
