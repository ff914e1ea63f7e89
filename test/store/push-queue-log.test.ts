import type { Delivery, LoggedDelivery } from "../../core/domain/delivery";
import { createWorkspaceWatches, type WorkspaceChange } from "../../core/operations/watch-workspace";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import {
  addWorkspace,
  keyOf,
  openTestStore,
  publication,
  redisNowUs,
  stopClock,
  testStore,
  texts,
  readPage,
} from "../harness/store";
import { until } from "../harness/wait";

const WEEK_SECONDS = 7 * 24 * 3_600;
const FIVE_MINUTES_US = 300_000_000;

const store = testStore();

const delivery = (attempt: number): Delivery => ({
  eventId: "evt_1",
  eventType: "message.create",
  attempt,
  result: "timeout",
  status: undefined,
  latencyMs: 5_000,
  address: undefined,
});

const publish = ({ workspace }: WorkspaceRecord, label: string) =>
  store.outboundEvents.publish(publication(workspace.id, label));
/** Polls. The page is empty if `from` is "latest", the default. It contains all held events if `from` is "oldest". */
const poll = (record: WorkspaceRecord, from: "latest" | "oldest" = "latest", of = store) =>
  readPage(of, { record, page: { start: { from }, limit: 100 } });
/** Waits for the next millisecond, because lines of polls and pushes in the same millisecond have no defined order. */
async function untilNextMs(): Promise<void> {
  const began = Date.now();
  await until("the next millisecond", () => Date.now() > began);
}
const log = ({ workspace }: WorkspaceRecord) => store.deliveryLog.read(workspace.id, 2_000, undefined);
/**
 * For each line of polls, returns the number of polls and the number of events that they returned. For each line of a
 * push, returns the number of the attempt.
 */
const told = (lines: readonly LoggedDelivery[]) =>
  lines.map(({ polled, attempt }) => (polled === undefined ? attempt : [polled.polls, polled.events]));

/** Sets or clears the target URL, and returns the changed workspace. */
async function setUrl({ workspace }: WorkspaceRecord, targetUrl: string): Promise<WorkspaceRecord> {
  const current = await store.workspaces.read(workspace.id);
  await store.workspaces.replace({ ...workspace, targetUrl }, current?.version ?? 0);
  const changed = await store.workspaces.read(workspace.id);
  if (changed === undefined) throw new Error("no such workspace");
  return changed;
}

// contract: poll-is-delivery
test("successive empty polls share one line of the log; a poll with events, a push, a change of mode or a pause begins a new line", async () => {
  const record = await addWorkspace(store);
  for (let i = 0; i < 3; i++) await poll(record);
  expect(told(await log(record))).toEqual([[3, 0]]);
  for (const label of ["a", "b"]) await publish(record, label);
  await poll(record, "oldest");
  for (let i = 0; i < 2; i++) await poll(record);
  await untilNextMs();
  await store.deliveryLog.append(record.workspace.id, delivery(7));
  await untilNextMs();
  await poll(record);
  expect(told(await log(record))).toEqual([[1, 0], 7, [2, 0], [1, 2], [3, 0]]);
  await setUrl(record, "https://bridge.example/");
  const polled = await setUrl(record, "");
  await poll(polled);
  const [newest, second] = told(await log(record));
  expect([newest, second].flat()).toEqual([1, 0, 1, 0]);
  const state = keyOf(store, record.workspace.id, "st");
  await store.redis.command(state, ["HINCRBY", state, "polled", String(-FIVE_MINUTES_US)]);
  await poll(polled);
  const lines = await log(record);
  expect(told(lines).slice(0, 3)).toEqual([1, 1, 1].map((polls) => [polls, 0]));
  // The ids decrease, even if all lines were logged in the same millisecond.
  const keys = lines.map(({ id }) => id.replaceAll(/\d+/g, (digits) => digits.padStart(20, "0")));
  expect(keys).toEqual([...new Set(keys)].toSorted().toReversed());
  const pages = [];
  for (let before: string | undefined; ;) {
    const [line] = await store.deliveryLog.read(record.workspace.id, 1, before);
    if (line === undefined) break;
    before = line.id;
    pages.push(line);
  }
  expect(pages).toEqual(lines);
});

test("a watch reads the lines that are new or have changed since its last read; a line of polls keeps its id when more polls are added", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  await store.deliveryLog.append(id, delivery(1));
  await poll(record);
  const look = await store.deliveryLog.watch(id);
  expect(await look()).toEqual([]);
  for (let i = 0; i < 2; i++) await poll(record);
  const [run, ...rest] = await look();
  expect([run?.polled?.polls, rest]).toEqual([3, []]);
  expect(await look()).toEqual([]);
  await poll(record);
  await publish(record, "x");
  await poll(record, "oldest");
  await untilNextMs();
  await store.deliveryLog.append(id, delivery(2));
  const fresh = await look();
  expect(told(fresh)).toEqual([[4, 0], [1, 1], 2]);
  expect(fresh[0]?.id).toBe(run?.id);
  expect(await look()).toEqual([]);
  await poll(record);
  expect(told(await look())).toEqual([[1, 0]]);
});

test("a watch of a workspace reads the whole log only once, and keeps the health of the last 1,000 pushes up to date", async () => {
  const record = await addWorkspace(store, { targetUrl: "https://bridge.example/" });
  const { id } = record.workspace;
  await Promise.all(Array.from({ length: 30 }, (_, i) => store.deliveryLog.append(id, delivery(i + 1))));
  let reads = 0;
  const deliveryLog: typeof store.deliveryLog = {
    ...store.deliveryLog,
    read: (...args) => {
      reads += 1;
      return store.deliveryLog.read(...args);
    },
  };
  const changes: WorkspaceChange[] = [];
  const over = new AbortController();
  const watchWorkspace = createWorkspaceWatches({ ...store, deliveryLog });
  const watch = watchWorkspace(id, (change) => changes.push(change), over.signal);
  const toldOf = () => changes.flatMap((change) => ("delivery" in change ? [change.delivery] : []));
  const attempts = () =>
    changes.flatMap((each) =>
      "health" in each && each.health?.mode === "push" ? [each.health.attempts] : [],
    );
  await until("the health is sent immediately", () => attempts().length === 1);
  for (const [i, attempt] of [31, 32].entries()) {
    await store.deliveryLog.append(id, delivery(attempt));
    await until("the delivery is counted", () => attempts().length === i + 2);
  }
  expect(attempts()).toEqual([30, 31, 32]);
  expect(told(toldOf())).toEqual([31, 32]);
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => store.deliveryLog.append(id, delivery(i))));
  await until("all deliveries are sent", () => toldOf().length === 1_002);
  await until("all deliveries are counted", () => attempts().at(-1) === 1_000);
  over.abort();
  await watch;
  expect(reads).toBe(1);
});

// time: controlled
test("the log keeps the last 1,000 pushes for seven days, and returns them newest first; polls have a separate maximum", async () => {
  const record = await addWorkspace(store);
  const { workspace } = record;
  const attempts = Array.from({ length: 1_300 }, (_, i) => i + 1);
  const asked = Date.now();
  await Promise.all(attempts.map((attempt) => store.deliveryLog.append(workspace.id, delivery(attempt))));
  const highLimits = await openTestStore(store.redisUrl, { limits: { address: 1_000, workspace: 1_000 } });
  for (let i = 0; i < 520; i++) {
    await publish(record, String(i));
    await poll(record, "oldest", highLimits);
  }
  await highLimits.close();
  const lines = await log(record);
  const deliveries = lines.filter(({ polled }) => polled === undefined);
  // Redis trims the stream in whole nodes of 100 entries.
  expect(deliveries.length).toBeGreaterThanOrEqual(1_000);
  expect(deliveries.length).toBeLessThanOrEqual(1_100);
  expect(deliveries.map(({ attempt }) => attempt)).toEqual(deliveries.map((_, i) => 1_300 - i));
  expect(deliveries[0]).toMatchObject(delivery(1_300));
  const polls = lines.slice(0, lines.length - deliveries.length);
  expect(told(polls)).toEqual(Array.from({ length: 500 }, (_, i) => [1, Math.min(100, 520 - i)]));
  for (const kind of ["log", "polls"]) {
    const key = keyOf(store, workspace.id, kind);
    const expiresAtMs = Number(await store.redis.command(key, ["PEXPIRETIME", key]));
    expect(expiresAtMs).toBeGreaterThanOrEqual(asked + WEEK_SECONDS * 1_000);
    expect(expiresAtMs).toBeLessThanOrEqual(Date.now() + (WEEK_SECONDS + 3_600) * 1_000);
  }
});

// time: controlled
test("the log omits deliveries that are older than seven days, even if Redis still has them, and includes polls that an older release logged", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const old = Date.now() - (WEEK_SECONDS + 60) * 1_000;
  const line = JSON.stringify(["evt_0", "ping", 1, "success", 204, 1, "127.0.0.1"]);
  await store.redis.command("", ["XADD", keyOf(store, id, "log"), `${old}-0`, "d", line]);
  const oldPoll = JSON.stringify(["", "poll", 0, "success", 200, 0, ""]);
  await store.redis.command("", ["XADD", keyOf(store, id, "log"), `${old + 120_000}-0`, "d", oldPoll]);
  await store.deliveryLog.append(id, delivery(1));
  expect(told(await log(record))).toEqual([1, [1, 0]]);
  // The age of a line of polls is the age of its last poll.
  await store.redis.command("", ["RPUSH", keyOf(store, id, "polls"), `${old}-1000000 9 ${old + 120_000} 0`]);
  expect(told(await log(record))).toEqual([1, [1, 0], [9, 0]]);
});

// time: controlled
test("a workspace that polls every 2 s without events takes at most 2 KB in Redis, and the time of its last poll is exact", async () => {
  const setClock = await stopClock(store);
  const began = await redisNowUs(store);
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const size = async (): Promise<number> => {
    const keys = await texts(store, "KEYS", `*${id}*`);
    const sizes = await Promise.all(keys.map((key) => store.redis.command(key, ["MEMORY", "USAGE", key])));
    return sizes.map(Number).reduce((sum, bytes) => sum + bytes);
  };
  const atRest = await size();
  for (let i = 1; i <= 3_000; i++) {
    await setClock(began + i * 2_000_000);
    await poll(record);
  }
  expect(atRest).toBeLessThanOrEqual(1_000);
  expect(await size()).toBeLessThanOrEqual(2_048);
  const lastAtMs = Math.floor((began + 3_000 * 2_000_000) / 1_000);
  const atMs = Math.floor((began + 2_000_000) / 1_000);
  expect(await log(record)).toMatchObject([{ atMs, polled: { polls: 3_000, lastAtMs, events: 0 } }]);
  expect(await store.pollWatch.health(id)).toMatchObject({ lastPollAtMs: lastAtMs });
});

test("a text that Redis's functions cannot decode does not prevent reading the log, or finding the failing workspaces of the shard", async () => {
  const record = await addWorkspace(store, { targetUrl: "https://bridge.example/events" });
  const { id } = record.workspace;
  const summary = { channel: "general", userId: "", messageId: "msg_1", text: "half a character: \ud83d" };
  const event = { summary, publisher: "game", expiresAtMs: null };
  await store.deliveryLog.append(id, { ...delivery(1), event });
  await store.deliveryLog.append(id, { ...delivery(2), event });
  expect(await store.deliveryLog.read(id, 10, undefined)).toHaveLength(2);
  await store.pollWatch.findFailing(store.keys.shard(id));
  expect(await store.workspaceStates.read([id])).toMatchObject([
    { state: "failing", lastAttempt: { result: "timeout", status: 0 } },
  ]);
});
