import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { asList, asText } from "../../core/store/redis/reply";
import { addWorkspace, evaluate, prefixOf, publication, testClock, testStore } from "../harness/store";

const OUTBOX_MAX = 10_000;
const MS = 1_000;
const FIVE_MINUTES = 300_000 * MS;
const DAY_AND_MORE = 26 * 3_600_000 * MS;

const store = testStore();

const { pass } = testClock(store);

const publish = ({ workspace }: WorkspaceRecord) =>
  store.outboundEvents.publish(publication(workspace.id, "waits"));
const shardOf = ({ workspace }: WorkspaceRecord): number => store.keys.shard(workspace.id);
const isFound = async (record: WorkspaceRecord): Promise<boolean> =>
  (await store.pollWatch.findFailing(shardOf(record))).workspaceIds.includes(record.workspace.id);
const outboxKey = ({ workspace }: WorkspaceRecord): string => `${prefixOf(store, workspace.id)}:mail`;

/** Returns the workspaces of the oldest and the newest email in an outbox, and the number of emails. */
async function outboxOf(record: WorkspaceRecord): Promise<readonly [string, string, number]> {
  const mails = await store.redis.command("", ["XRANGE", outboxKey(record), "-", "+"]);
  const all = asList(mails).map((mail) => asText(asList(asList(mail)[1])[1]));
  return [all[0] ?? "", all.at(-1) ?? "", all.length];
}

// time: controlled
// contract: health-failing, health-mail-once
test("when events wait for 5 minutes without a poll, `findFailing` returns their workspace only once, and stores one email", async () => {
  const record = await addWorkspace(store);
  await publish(record);
  await pass(FIVE_MINUTES - MS);
  expect(await isFound(record)).toBe(false);
  await publish(record);
  await pass(MS);
  expect([await isFound(record), await isFound(record)]).toEqual([true, false]);
  const mails = await store.pollWatch.readMail(shardOf(record), undefined);
  expect(mails.filter(({ workspaceId }) => workspaceId === record.workspace.id)).toHaveLength(1);
});

// time: controlled
// contract: health-failing
test.each<[string, (record: WorkspaceRecord) => Promise<unknown>]>([
  ["while the bridge does not poll", () => pass(DAY_AND_MORE)],
  [
    "before the bridge polls",
    async (record) => {
      await pass(DAY_AND_MORE);
      const page = { start: { from: "after", cursor: "1" }, limit: 10 } as const;
      expect(await store.heldEvents.page({ record, page })).toMatchObject({ events: [], gap: true });
      await pass(FIVE_MINUTES);
      expect(await isFound(record)).toBe(false);
    },
  ],
  [
    "while the workspace has a target URL",
    async ({ workspace, version }) => {
      const pushed = { ...workspace, targetUrl: "https://bridge.example/" };
      expect(await store.workspaces.replace(pushed, version)).toBe(true);
      await pass(DAY_AND_MORE);
      const current = store.workspaces.recall(workspace.id)?.version ?? 0;
      expect(await store.workspaces.replace(workspace, current)).toBe(true);
    },
  ],
])(
  "when an event expires %s, the workspace is failing 5 minutes after the next event",
  async (_when, expire) => {
    const record = await addWorkspace(store);
    await publish(record);
    await expire(record);
    await publish(record);
    await pass(FIVE_MINUTES - MS);
    expect(await isFound(record)).toBe(false);
    await pass(MS);
    expect(await isFound(record)).toBe(true);
  },
);

test.each([
  ["three events", 3],
  ["twenty events, read outside the Redis function", 20],
])(
  "if a page contains all waiting events, these events count as served immediately: %s",
  async (_size, size) => {
    const record = await addWorkspace(store);
    let cursor = "1";
    const poll = async (limit: number): Promise<void> => {
      const page = { start: { from: "after", cursor }, limit } as const;
      const answer = await store.heldEvents.page({ record, page });
      if (answer.outcome !== "page") throw new Error(answer.outcome);
      cursor = answer.last ?? cursor;
      answer.release?.();
    };
    const waiting = async () => (await store.pollWatch.health(record.workspace.id)).waiting;
    const publishSome = () => Promise.all(Array.from({ length: size }, () => publish(record)));
    await publishSome();
    expect(await waiting()).toBe(size);
    await poll(size);
    expect(await waiting()).toBe(0);
    for (const _ of [1, 2]) await publishSome();
    await poll(size);
    // The events of a large page count as served when the next poll sends their cursor.
    expect(await waiting()).toBe(size === 3 ? size : 2 * size);
    await poll(1);
    expect(await waiting()).toBe(size - 1);
  },
);

// time: controlled
// contract: health-healthy
test("the health shows the time of the poll that ended the last outage", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  const page = { start: { from: "oldest" }, limit: 10 } as const;
  await publish(record);
  await pass(FIVE_MINUTES);
  expect(await isFound(record)).toBe(true);
  expect((await store.pollWatch.health(id)).recoveredAtMs).toBeUndefined();
  await store.heldEvents.page({ record, page });
  const { recoveredAtMs, lastPollAtMs } = await store.pollWatch.health(id);
  expect(recoveredAtMs).toBe(lastPollAtMs);
  await pass(MS);
  await store.heldEvents.page({ record, page });
  expect(await store.pollWatch.health(id)).toMatchObject({ recoveredAtMs, failingSinceMs: undefined });
});

test("the outbox of emails is read in parts", async () => {
  const record = await addWorkspace(store);
  const key = outboxKey(record);
  await store.redis.command("", ["DEL", key]);
  const names = Array.from({ length: 15 }, (_, i) => `w${i}`);
  for (const name of names) await store.redis.command("", ["XADD", key, "*", "w", name, "s", "1", "o", "1"]);
  const read: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.pollWatch.readMail(shardOf(record), after);
    if (page.length === 0) break;
    read.push(...page.map(({ workspaceId }) => workspaceId));
    after = page.at(-1)?.entryId;
  }
  expect(read).toEqual(names);
});

test("a full outbox drops its oldest email when a new email is added, and counts the drop", async () => {
  const record = await addWorkspace(store);
  const { id } = record.workspace;
  // Removes the other workspaces of the shard from `:due`, so that only this workspace is found.
  await store.redis.command("", ["DEL", `${prefixOf(store, id)}:due`]);
  await evaluate(
    store,
    `redis.call('DEL', KEYS[1])
     for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'w', 'w' .. i, 's', 1, 'o', 1) end`,
    [outboxKey(record)],
    OUTBOX_MAX,
  );
  await publish(record);
  await pass(FIVE_MINUTES);
  expect(await store.pollWatch.findFailing(shardOf(record))).toMatchObject({
    workspaceIds: [id],
    mails: OUTBOX_MAX,
    mailsDropped: 1,
  });
  expect(await outboxOf(record)).toEqual(["w2", id, OUTBOX_MAX]);
});
