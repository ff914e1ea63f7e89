import { OPERATOR_EVENT_EVERY_MS } from "../../core/domain/operator-event";
import type { Workspace } from "../../core/domain/workspace";
import { asNumber } from "../../core/store/redis/reply";
import { readFacts, storeFacts } from "../harness/held-facts";
import { deliveryOf, pushQueueOf } from "../harness/push-queue";
import { addWorkspace, keyOf, readPage, testClock, testStore, texts } from "../harness/store";

const store = testStore();
const clock = testClock(store);
const { addPushed, change, fail, publish, queue, record, shardOf } = pushQueueOf(store);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const US_PER_MS = 1_000;
/** The fields of a workspace's state: first those that older releases read and write, then the newer ones. */
const STORED_NAMES = (
  "version mode sequence held total largest gone oldest lifted published served polled run " +
  "failing recovered refused posted faulty alerted warned exhausted lost " +
  "attempted failed accepted failedbefore overloaded listed created"
).split(" ");

const nowMs = (): number => clock.us / US_PER_MS;

/** Stores fields of a workspace's state as a core of an older release did. */
async function storeFields({ id }: Workspace, given: Record<string, number | string>): Promise<void> {
  const { gone, oldest, held, total, largest, served, ...fields } = given;
  const facts = Object.entries({ gone, oldest, held, total, largest, served });
  await storeFacts(
    store,
    id,
    Object.fromEntries(facts.flatMap(([k, v]) => (v === undefined ? [] : [[k, Number(v)]]))),
  );
  const pairs = Object.entries(fields).flat().map(String);
  await store.redis.command("", ["HSET", keyOf(store, id, "st"), ...pairs]);
}

/** Returns the fields of a workspace's state as a core of an older release reads them. */
async function readFields({ id }: Workspace): Promise<Readonly<Record<string, string>>> {
  const pairs = await texts(store, "HGETALL", keyOf(store, id, "st"));
  const fields = Object.fromEntries(pairs.flatMap((name, i) => (i % 2 ? [] : [[name, pairs[i + 1] ?? ""]])));
  delete fields.facts;
  for (const name of Object.keys(fields)) expect(STORED_NAMES).toContain(name);
  const facts = await readFacts(store, id);
  // The last assigned sequence is the higher one of the stored sequence and the sequence of the last held event.
  const sequence = Math.max(Number(fields.sequence ?? 0), facts.held ?? 0);
  const numbers = Object.entries({ ...facts, sequence }).map(([name, value]) => [name, String(value)]);
  return { ...fields, ...(Object.fromEntries(numbers) as Record<string, string>) };
}

const eventsOf = async (workspace: Workspace) => {
  const events = await store.operatorOutbox.read(shardOf(workspace), undefined);
  return events.filter(({ workspaceId }) => workspaceId === workspace.id);
};

// time: controlled
test("the polls of a workspace continue with the state that an older release stored, and the older release can read the new state", async () => {
  const poller = await addWorkspace(store);
  const { workspace } = poller;
  const { id } = workspace;
  const ago = (ms: number): number => clock.us - ms * US_PER_MS;
  const [served, waiting] = [ago(7 * MINUTE_MS), ago(6 * MINUTE_MS)];
  const held = keyOf(store, id, "held");
  await store.redis.command("", ["XADD", held, `${served}-0`, "4", '"served"']);
  await store.redis.command("", ["XADD", held, `${waiting}-0`, "5", '"waiting"']);
  const assigned = clock.us + HOUR_MS * US_PER_MS;
  const times = {
    failing: nowMs() - MINUTE_MS,
    recovered: nowMs() - 3 * HOUR_MS,
    refused: nowMs() - 2 * HOUR_MS,
    posted: nowMs() - 4 * HOUR_MS,
  };
  const [gone, polled] = [ago(25 * HOUR_MS), ago(6.5 * MINUTE_MS)];
  const state = { sequence: assigned, held: waiting, total: 5, largest: 9, gone, oldest: served };
  await storeFields(workspace, { ...state, served, polled, run: `${polled}-1000000 3`, ...times });

  expect(await store.pollWatch.health(id)).toEqual({
    failingSinceMs: times.failing,
    lastPollAtMs: polled / US_PER_MS,
    waiting: 1,
    oldestWaitingAtMs: waiting / US_PER_MS,
    recoveredAtMs: times.recovered,
    refusedAtMs: times.refused,
  });
  expect(await store.inboundLog.firstAtMs(id)).toBe(times.posted);
  const sequence = await publish(workspace, "new");
  expect(sequence).toBe(assigned + 1);
  expect(await readFields(workspace)).toMatchObject({
    sequence: String(sequence),
    held: String(sequence),
    total: "6",
    oldest: String(served),
    gone: String(gone),
  });

  const page = { start: { from: "after", cursor: String(gone - 1) }, limit: 10 } as const;
  const answer = await readPage(store, { record: poller, page });
  expect(answer).toMatchObject({ gap: true, hasMore: false, last: String(sequence) });
  expect("events" in answer && answer.events.map(String)).toEqual([
    '"served"',
    '"waiting"',
    `{"label":"new","sequence":${sequence},"z":1}`,
  ]);
  const { failing, ...fields } = await readFields(workspace);
  expect(failing).toBeUndefined();
  expect(fields).toMatchObject({
    served: String(sequence),
    polled: String(clock.us),
    recovered: String(nowMs()),
    refused: String(times.refused),
    posted: String(times.posted),
  });
  expect(fields).not.toHaveProperty("run");
  expect(await eventsOf(workspace)).toMatchObject([{ type: "workspace.recovered", sinceMs: times.failing }]);
  const newest = { start: { from: "after", cursor: String(sequence) }, limit: 10 } as const;
  await readPage(store, { record: poller, page: newest });
  expect((await readFields(workspace)).run).toMatch(/^\d+-\d+ 1$/);
  expect((await store.deliveryLog.read(id, 10, undefined)).map(({ polled }) => polled?.polls)).toContain(3);
});

// time: controlled
test("the failures of pushes continue with the state that an older release stored, and the older release can read the new state", async () => {
  const workspace = await addPushed();
  const [faulty, exhausted] = [nowMs() - MINUTE_MS, nowMs() - 2 * HOUR_MS];
  await storeFields(workspace, { faulty, alerted: faulty, warned: faulty, exhausted, lost: 4 });
  await fail(workspace, "late");
  expect(await eventsOf(workspace)).toMatchObject([
    { type: "event.retries_exhausted", sinceMs: faulty, event: { count: 5 } },
  ]);
  expect(await readFields(workspace)).toMatchObject({
    faulty: String(faulty),
    alerted: String(faulty),
    exhausted: String(nowMs()),
    lost: "0",
  });
  const accepted = await queue(workspace, "accepted");
  await record(accepted, "done", deliveryOf(accepted, 1, "success"));
  expect((await eventsOf(workspace))[1]).toMatchObject({ type: "workspace.recovered", sinceMs: faulty });
  const fields = await readFields(workspace);
  expect(fields).not.toHaveProperty("faulty");
  expect(fields).not.toHaveProperty("alerted");
  expect(fields.warned).toBe(String(faulty));

  // The next `workspace.failing` event is sent no earlier than OPERATOR_EVENT_EVERY_MS after the time in `warned`.
  const failed = await queue(workspace, "failed");
  const retry = { do: "retry", attempts: 1, firstFailedAtMs: 1 } as const;
  await record(failed, retry, deliveryOf(failed, 1, "timeout"));
  expect(await readFields(workspace)).toMatchObject({ faulty: String(nowMs()) });
  const due = `${store.keys.prefix(shardOf(workspace))}:due`;
  const dueMs = faulty + OPERATOR_EVENT_EVERY_MS;
  expect(asNumber(await store.redis.command("", ["ZSCORE", due, workspace.id]))).toBe(dueMs);
  await clock.pass((dueMs - nowMs()) * US_PER_MS);
  await store.pollWatch.findFailing(shardOf(workspace));
  expect(await readFields(workspace)).toMatchObject({
    warned: String(nowMs()),
    alerted: String(nowMs() - 4 * MINUTE_MS),
  });
});

// time: controlled
test("a series of moves from the push queue continues with the state that an older release stored", async () => {
  const workspace = await addPushed();
  const update = { type: "message.update" } as const;
  const [first, second] = [await queue(workspace, "a", update), await queue(workspace, "b", update)];
  await change(workspace, { targetUrl: "" });
  const moved = clock.us + 10;
  // An event with a lower sequence was held before the moves, so no held event is newer than the queued updates.
  const sequences = { sequence: moved, held: moved, lifted: moved, oldest: moved };
  await storeFields(workspace, { ...sequences, published: clock.us - 10, total: 1 });
  const held = keyOf(store, workspace.id, "held");
  await store.redis.command("", ["XADD", held, `${moved}-0`, "1", '"moved"']);
  expect(await record(first, "hold")).toBe("recorded");
  expect(await readFields(workspace)).toMatchObject({
    lifted: String(moved + 1),
    published: String(clock.us - 10),
    held: String(moved + 1),
  });
  // The new event, which may be a later update of the same message, ends the series.
  await publish(workspace, "newer");
  expect(await record(second, "hold")).toBe("polls");
});
