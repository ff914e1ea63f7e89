import { poll, post, signatureOf } from "../harness/bridge";
import { startConsumer } from "../harness/consumer";
import { published } from "../harness/contents";
import { startPair, type TestPair } from "../harness/pair";
import { eventIdOf } from "../harness/push";
import { startReceiver } from "../harness/receiver";
import { startTestCluster } from "../harness/redis-cluster";
import { startTestSentinel } from "../harness/redis-sentinel";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { verifyPush } from "../harness/verify-push";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

/** Number of workspaces: enough for each master of a cluster to have some of them. */
const WORKSPACES = 12;

// contract: post-202, poll-signed-response
describe.each([
  ["a Redis Cluster", () => startTestCluster()],
  ["a master with Sentinel", () => startTestSentinel()],
])("on %s", (_name, startRedis) => {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let pair: TestPair;
  let workspaces: readonly TestWorkspace[];
  beforeAll(async () => {
    redis = await startRedis();
    pair = await startPair(redis.url);
    await until("both cores are ready", () => pair.areReady());
    workspaces = await Promise.all(
      Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])),
    );
  });
  afterAll(async () => {
    await pair.close();
    await redis.close();
  });

  test("an event that is posted several times, through either edge, arrives once at a follower that is connected to one of the cores", async () => {
    const typed = (id: string) => ({ type: "message", id, channel: "c1", user: { id: "u1" }, text: id });
    const consumer = await startConsumer(pair.clients[1].games, { group: "paths", window: 1_000 }).opened();
    consumer.ackAll();
    for (const id of ["one", "two", "two", "three"]) {
      const answers = await Promise.all(workspaces.map((each) => post(pair.urls[0], each, typed(id))));
      for (const { status, json } of answers) expect([status, json]).toEqual([202, { ok: true }]);
    }
    // A request with the same id is also ignored if it arrives through the other edge.
    const again = await Promise.all(workspaces.map((each) => post(pair.urls[1], each, typed("one"))));
    expect(again.map(({ status }) => status)).toEqual(workspaces.map(() => 202));
    await Promise.all(workspaces.map((each) => post(pair.urls[1], each, typed("last"))));
    await consumer.sees(4 * WORKSPACES);
    for (const { id } of workspaces) {
      const texts = consumer.seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text);
      expect(texts).toEqual(["one", "two", "three", "last"]);
    }
    consumer.cancel();
  });

  test("events published through one core are polled through both edges, signed and in order", async () => {
    for (const workspace of workspaces) {
      const events = ["a", "b", "c"].map((text) => textEvent(workspace.id, text));
      const [a, b, c] = (await publish(pair.clients[0], ...events)).map(published);
      const first = await poll(pair.urls[1], workspace, "limit=2");
      const page = first.json as { events: { id: string; sequence: number }[]; next: string };
      expect(page.events.map(({ id, sequence }) => [id, sequence])).toEqual([
        [a?.eventId, a?.sequence],
        [b?.eventId, b?.sequence],
      ]);
      const header = String(first.headers["service-signature"]);
      expect(header).toBe(signatureOf(workspace.secret, first.body, /^t=(\d+)/.exec(header)?.[1]));
      const rest = (await poll(pair.urls[0], workspace, `after=${page.next}`)).json as typeof page;
      expect(rest.events.map(({ id }) => id)).toEqual([c?.eventId]);
    }
  });

  test("each event of a push workspace is pushed once and signed, whichever core holds the shard's lease", async () => {
    const name = "b.bridge.test";
    pair.names.set(name, ["127.0.0.1"]);
    const receiver = await startReceiver({ certificate: pair.ca.issue([name]), names: [name] });
    try {
      const api = createWorkspaceApi(pair.clients[0].workspaces);
      const pushed = await Promise.all(
        Array.from({ length: WORKSPACES }, async (_, i) => {
          const { id, secret } = await api.make({ targetUrl: receiver.url });
          const results = await publish(
            pair.clients[i % 2 === 0 ? 0 : 1],
            textEvent(id, "a"),
            textEvent(id, "b"),
          );
          return { id, secret, eventIds: results.map((result) => published(result).eventId) };
        }),
      );
      await receiver.waitFor(2 * WORKSPACES);
      for (const { id, secret, eventIds } of pushed) {
        const requests = receiver.requests.filter(({ headers }) => headers["service-workspace"] === id);
        // Two first attempts can be in progress at the same time, so either attempt can arrive first.
        expect(requests.map(eventIdOf).toSorted()).toEqual(eventIds.toSorted());
        for (const request of requests) expect(verifyPush(request, [secret]).workspace).toBe(id);
      }
    } finally {
      await receiver.close();
    }
  });
});
