import { asList, asText } from "../../core/store/reply";
import { timePasses } from "../harness/held-events";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { addWorkspace, evaluate, openTestStore, publication, type TestStore } from "../harness/store";

const OUTBOX_MAX = 10_000;
const FIVE_MINUTES_MS = 300_000;
const MORE_THAN_A_DAY_US = 26 * 3_600_000_000;

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

/** A workspace whose events have waited so long that it comes to fail, the only one of its shard; and the shard. */
async function addOverdue(): Promise<{ readonly id: string; readonly shard: number }> {
  const { id } = (await addWorkspace(store)).workspace;
  const shard = store.keys.shard(id);
  const prefix = store.keys.prefix(shard);
  await store.redis.command("", ["DEL", `${prefix}:due`, `${prefix}:mail`]);
  await store.outboundEvents.publish(publication(id, "waits"));
  await store.redis.command("", ["ZADD", `${prefix}:due`, "XX", "0", id]);
  return { id, shard };
}

/** The workspaces of the oldest and of the newest mail of an outbox, and how many there are. */
async function outboxOf(shard: number): Promise<readonly [oldest: string, newest: string, count: number]> {
  const mails = await store.redis.command("", ["XRANGE", `${store.keys.prefix(shard)}:mail`, "-", "+"]);
  const all = asList(mails).map((mail) => asText(asList(asList(mail)[1])[1]));
  return [all[0] ?? "", all.at(-1) ?? "", all.length];
}

// contract: health-mail-once
test("a workspace that comes to fail is found once, with one mail", async () => {
  const { id, shard } = await addOverdue();
  expect(await store.pollWatch.findFailing(shard)).toEqual({ workspaceIds: [id], mailsDropped: 0 });
  expect(await store.pollWatch.findFailing(shard)).toEqual({ workspaceIds: [], mailsDropped: 0 });
  const mails = await store.pollWatch.readMail(shard, undefined);
  expect(mails.filter(({ workspaceId }) => workspaceId === id)).toHaveLength(1);
});

test("the outbox is read on from after a mail", async () => {
  const mails = [];
  const { shard } = await addOverdue();
  const mail = `${store.keys.prefix(shard)}:mail`;
  for (let i = 0; i < 15; i++) {
    await store.redis.command("", ["XADD", mail, "*", "w", `w${i}`, "s", "1", "o", "1"]);
  }
  for (let after: string | undefined; ;) {
    const page = await store.pollWatch.readMail(shard, after);
    if (page.length === 0) break;
    mails.push(...page.map(({ workspaceId }) => workspaceId));
    after = page.at(-1)?.entryId;
  }
  expect(mails.slice(-15)).toEqual(Array.from({ length: 15 }, (_, i) => `w${i}`));
});

test("what a full outbox has no room for leaves it, the oldest first, and is counted", async () => {
  const { id, shard } = await addOverdue();
  const mail = `${store.keys.prefix(shard)}:mail`;
  await evaluate(
    store,
    `redis.call('DEL', KEYS[1])
     for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'w', 'w' .. i, 's', 1, 'o', 1) end`,
    [mail],
    OUTBOX_MAX,
  );
  expect(await outboxOf(shard)).toEqual(["w1", `w${OUTBOX_MAX}`, OUTBOX_MAX]);
  expect(await store.pollWatch.findFailing(shard)).toEqual({ workspaceIds: [id], mailsDropped: 1 });
  expect(await outboxOf(shard)).toEqual(["w2", id, OUTBOX_MAX]);
});

describe("after events have expired that nobody fetched", () => {
  const dueKey = (id: string): string => `${store.keys.prefix(store.keys.shard(id))}:due`;
  /** Makes it as if so many ms had passed since the workspace's wait began. */
  const pass = (id: string, ms: number): Promise<unknown> =>
    store.redis.command("", ["ZINCRBY", dueKey(id), String(-ms), id]);
  const isDue = async (id: string): Promise<boolean> =>
    (await store.redis.command("", ["ZSCORE", dueKey(id), id])) !== null;
  const isFound = async (id: string): Promise<boolean> =>
    (await store.pollWatch.findFailing(store.keys.shard(id))).workspaceIds.includes(id);

  /** A workspace whose only event expired unfetched, and then a poll. */
  async function addForgotten(): Promise<string> {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    await store.outboundEvents.publish(publication(id, "expires"));
    await timePasses(store, id, MORE_THAN_A_DAY_US);
    const start = { from: "after", cursor: "1" } as const;
    expect(await store.heldEvents.page({ record, page: { start, limit: 10 } })).toMatchObject({
      events: [],
      gap: true,
    });
    return id;
  }

  // contract: health-failing
  test("nothing waits, and the next event that waits for five minutes is found", async () => {
    const id = await addForgotten();
    expect(await isDue(id)).toBe(false);
    await store.outboundEvents.publish(publication(id, "waits"));
    expect(await isDue(id)).toBe(true);
    expect(await isFound(id)).toBe(false);
    await pass(id, FIVE_MINUTES_MS);
    expect(await isFound(id)).toBe(true);
  });

  // contract: health-failing
  test("the five minutes begin with the event", async () => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    await store.outboundEvents.publish(publication(id, "expires"));
    await pass(id, FIVE_MINUTES_MS - 1_000);
    await timePasses(store, id, MORE_THAN_A_DAY_US);
    await store.outboundEvents.publish(publication(id, "waits"));
    await pass(id, FIVE_MINUTES_MS - 10_000);
    expect(await isFound(id)).toBe(false);
    await pass(id, 10_000);
    expect(await isFound(id)).toBe(true);
  });

  test("the same when the workspace was pushed to meanwhile", async () => {
    const record = await addWorkspace(store);
    const { id } = record.workspace;
    await store.outboundEvents.publish(publication(id, "expires"));
    const pushed = { ...record.workspace, targetUrl: "https://bridge.example/" };
    expect(await store.workspaces.replace(pushed, record.version)).toBe(true);
    await timePasses(store, id, MORE_THAN_A_DAY_US);
    const version = store.workspaces.recall(id)?.version ?? 0;
    expect(await store.workspaces.replace(record.workspace, version)).toBe(true);
    await pass(id, FIVE_MINUTES_MS).catch(() => undefined);
    expect(await isFound(id)).toBe(false);
    await store.outboundEvents.publish(publication(id, "waits"));
    await pass(id, FIVE_MINUTES_MS);
    expect(await isFound(id)).toBe(true);
  });
});
