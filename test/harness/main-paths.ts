import { poll, post, signatureOf } from "./bridge";
import { startConsumer } from "./consumer";
import { published } from "./contents";
import { startPair, type TestPair } from "./pair";
import { eventIdOf } from "./push";
import { startReceiver } from "./receiver";
import { createWorkspace, publish, textEvent } from "./service";
import { verifyPush } from "./verify-push";
import { until } from "./wait";
import { createWorkspaceApi } from "./workspace-api";

const WORKSPACES = 12;
const SOON_MS = 30_000;

interface Page {
  readonly events: readonly { readonly id: string; readonly sequence: number }[];
  readonly next: string;
}

/** Tests of what the service is for, end to end, over a Redis of whatever kind. */
export function testMainPaths(redisUrl: () => string): void {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair(redisUrl());
  }, 60_000);
  afterAll(() => pair.close());

  const typed = (id: string, text = id) => ({
    type: "message",
    id,
    channel: "c1",
    user: { id: "u1" },
    text,
  });

  test("an event that is accepted at one edge comes to a follower at another core, once", async () => {
    const consumer = await startConsumer(pair.clients[1].games, { group: "paths", window: 1_000 }).opened();
    consumer.ackAll();
    const workspaces = await Promise.all(
      Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])),
    );
    for (const text of ["one", "two", "two", "three"]) {
      const answers = await Promise.all(
        workspaces.map((each) => post(pair.urls[0], each, typed(`id ${text}`, text))),
      );
      expect(answers.map(({ status, json }) => [status, json])).toEqual(
        workspaces.map(() => [202, { ok: true }]),
      );
    }
    // The same id at the other edge is known, too.
    const again = await Promise.all(workspaces.map((each) => post(pair.urls[1], each, typed("id one"))));
    expect(again.map(({ status }) => status)).toEqual(workspaces.map(() => 202));
    await consumer.sees(3 * WORKSPACES, SOON_MS);
    for (const { id } of workspaces) {
      const texts = consumer.seen.filter(({ workspaceId }) => workspaceId === id).map(({ text }) => text);
      expect(texts).toEqual(["one", "two", "three"]);
    }
    consumer.cancel();
  }, 60_000);

  test("what is published at one core is polled at another edge, signed, in order, after a cursor or from the start", async () => {
    const workspaces = await Promise.all(
      Array.from({ length: WORKSPACES }, () => createWorkspace(pair.clients[0])),
    );
    for (const workspace of workspaces) {
      const results = await publish(
        pair.clients[0],
        ...["a", "b", "c"].map((text) => textEvent(workspace.id, text)),
      );
      const events = results.map((result) => published(result));
      const first = await poll(pair.urls[1], workspace, "limit=2");
      const page = first.json as Page;
      expect(page.events.map(({ id, sequence }) => [id, sequence])).toEqual(
        events.slice(0, 2).map(({ eventId, sequence }) => [eventId, sequence]),
      );
      const header = String(first.headers["service-signature"]);
      const t = /^t=(\d+)/.exec(header)?.[1] ?? "";
      expect(header).toBe(signatureOf(workspace.secret, first.body, t));
      const rest = (await poll(pair.urls[0], workspace, `after=${page.next}`)).json as Page;
      expect(rest.events.map(({ id }) => id)).toEqual([events[2]?.eventId]);
    }
  }, 60_000);

  test("an idempotency key that was published under at one core is known at the other", async () => {
    const workspace = await createWorkspace(pair.clients[0]);
    const event = { ...textEvent(workspace.id, "x"), idempotencyKey: "key" };
    const [first] = await publish(pair.clients[0], event);
    const [second] = await publish(pair.clients[1], event);
    expect(published(second)).toEqual({ ...published(first), repeated: true });
  });

  test("events of push workspaces are pushed once each, signed, whichever core has their shard", async () => {
    const name = "b.bridge.test";
    pair.names.set(name, ["127.0.0.1"]);
    const receiver = await startReceiver({ certificate: pair.ca.issue([name]), names: [name] });
    try {
      const api = createWorkspaceApi(pair.clients[0].workspaces);
      const workspaces = await Promise.all(
        Array.from({ length: WORKSPACES }, () => api.make({ targetUrl: receiver.url })),
      );
      const sent = new Map<string, readonly string[]>();
      for (const [i, { id }] of workspaces.entries()) {
        const clients = pair.clients[i % 2 === 0 ? 0 : 1];
        const results = await publish(clients, ...["a", "b"].map((text) => textEvent(id, text)));
        sent.set(
          id,
          results.map((result) => published(result).eventId),
        );
      }
      await receiver.waitFor(2 * WORKSPACES, SOON_MS);
      for (const { id, secret } of workspaces) {
        const requests = receiver.requests.filter(({ headers }) => headers["service-workspace"] === id);
        // Two first attempts may be under way at once, so either may be there first.
        expect(requests.map(eventIdOf).toSorted()).toEqual(sent.get(id)?.toSorted());
        for (const request of requests) expect(verifyPush(request, [secret]).workspace).toBe(id);
      }
    } finally {
      await receiver.close();
    }
  }, 60_000);

  test("workspaces of all shards are listed, at any core", async () => {
    const [one, other] = pair.clients.map((clients) => createWorkspaceApi(clients.workspaces));
    const made = await one?.make();
    const { workspaces } = (await other?.list(100)) ?? { workspaces: [] };
    expect(workspaces[0]?.id).toBe(made?.id);
    expect(workspaces.length).toBeGreaterThan(3 * WORKSPACES);
  });

  test("both cores are ready", async () => {
    await until("both are ready", () => pair.areReady());
  });
}
