import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import { type, type Consumer } from "../harness/consumer";
import { useFollowers } from "../harness/followers";
import { startPair, type TestPair } from "../harness/pair";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { createWorkspace, type TestWorkspace } from "../harness/service";
import { watchLeases } from "../harness/shard-leases";
import { until } from "../harness/wait";

const WORKSPACES = 12;

const followers = useFollowers();
let redis: TestRedis;
let pair: TestPair;
let workspaces: readonly TestWorkspace[];
beforeAll(async () => {
  redis = await startTestRedis();
  pair = await startPair(redis.url);
  workspaces = await Promise.all(Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])));
});
afterAll(async () => {
  for (const core of pair.cores) core.child.kill("SIGCONT");
  await pair.close();
  await redis.close();
});

const join = (core: 0 | 1, open: Parameters<typeof FollowOpen.create>[0]): Promise<Consumer> =>
  followers.start(pair.clients[core], { window: 1_000, ...open }).opened();

/** Types the same texts in every workspace, through the first edge. */
async function typeEverywhere(...texts: readonly string[]): Promise<void> {
  const typeIn = async (workspace: TestWorkspace): Promise<void> => {
    // An edge needs some time to switch from a halted core to the other core.
    for (const text of texts) await until("the text is accepted", () => type(pair.urls[0], workspace, text));
  };
  await Promise.all(workspaces.map(typeIn));
}

/** Returns, for each workspace, the distinct texts that the consumers received. */
function firstComings(...consumers: readonly Consumer[]): readonly (readonly string[])[] {
  const seen = consumers.flatMap((consumer) => consumer.seen);
  return workspaces.map(({ id }) => [
    ...new Set(seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text)),
  ]);
}

const haveComeEverywhere = (consumers: readonly Consumer[], ...texts: readonly string[]): Promise<boolean> =>
  until(`${texts.join(", ")} arrive`, () =>
    firstComings(...consumers).every((came) => texts.every((text) => came.includes(text))),
  );

// time: ordering
test("a group's shards are spread evenly over the consumers, and move when a consumer leaves or a consumer's core hangs", async () => {
  const group = followers.newGroup();
  const [leases, coreLeases] = [await watchLeases(redis.url, group), await watchLeases(redis.url)];
  try {
    const consumers: Consumer[] = [];
    for (const [i, consumer] of ["a", "b", "c", "d"].entries()) {
      consumers.push(await join(i % 2 === 0 ? 0 : 1, { group, consumer }));
      consumers[i]?.ackAll();
      await leases.untilShared(i + 1);
    }
    const [a, b, c, d] = consumers as [Consumer, Consumer, Consumer, Consumer];
    await typeEverywhere("1", "2");
    await haveComeEverywhere(consumers, "1", "2");

    b.halfClose();
    await b.ended();
    await leases.untilShared(3);
    await typeEverywhere("3");
    await haveComeEverywhere(consumers, "3");
    expect(consumers.flatMap(({ seen }) => seen).every(({ attempt }) => attempt === 1)).toBe(true);
    expect(firstComings(...consumers).map((came) => came.toSorted())).toEqual(
      workspaces.map(() => ["1", "2", "3"]),
    );

    c.cancel();
    await leases.untilShared(2);
    await typeEverywhere("4");
    await haveComeEverywhere([a, d], "4");

    const [, halted] = pair.cores;
    halted.child.kill("SIGSTOP");
    await Promise.all([leases.untilShared(1), coreLeases.untilShared(1)]);
    const before = d.seen.length;
    await typeEverywhere("5");
    await until("consumer a has all events", () => firstComings(a).every((came) => came.includes("5")));
    // Compares ids, not texts: the halted core might accept a request only after it resumes, and then store the same
    // text again with a new id.
    const moved = new Set(a.seen.map(({ id }) => id));
    halted.child.kill("SIGCONT");
    await Promise.all([leases.untilShared(2), coreLeases.untilShared(2)]);
    await typeEverywhere("6");
    await haveComeEverywhere([a, d], "6");
    expect(d.seen.slice(before).filter(({ id }) => moved.has(id))).toEqual([]);

    for (const { seen } of consumers) {
      for (const { id } of workspaces) {
        const own = seen.filter(({ workspaceId, attempt }) => workspaceId === id && attempt === 1);
        expect(own.map(({ text }) => text)).toEqual(own.map(({ text }) => text).toSorted());
      }
    }
  } finally {
    await leases.close();
    await coreLeases.close();
  }
});
