import { credentials, status } from "@grpc/grpc-js";
import { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";
import { startBalancer } from "../harness/balancer";
import { poll, post } from "../harness/bridge";
import { startConsumer, type Consumer } from "../harness/consumer";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis } from "../harness/redis";
import { connectToCore } from "../harness/core-clients";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

const DRAIN = { DRAIN_SECONDS: "2" };
const POST_EVERY_MS = 25;
const PUBLISH_EVERY_MS = 100;
const BETWEEN = 20;

/** Follows all events, and opens a new stream as soon as a stream ends. */
function followForever(games: GameServiceClient) {
  const texts: string[] = [];
  const ends: unknown[] = [];
  const closed = new AbortController();
  let consumer: Consumer;
  async function follow(): Promise<void> {
    while (!closed.signal.aborted) {
      consumer = startConsumer(games, { group: "rolled", window: 1_000 });
      consumer.ackAll();
      const { code, details } = await consumer.ended();
      texts.push(...consumer.seen.map(({ text }) => text));
      if (!closed.signal.aborted) ends.push([code, details]);
    }
  }
  const following = follow();
  return {
    ends,
    /** Resolves when the group exists. A new group gets only events that are accepted after the group was opened. */
    opened: () => consumer.opened(),
    count: () => texts.length + consumer.seen.length,
    async close(): Promise<readonly string[]> {
      closed.abort();
      consumer.cancel();
      await following;
      return texts;
    },
  };
}

/** Sends requests at a steady rate, and polls all held events, until `stop` is called. */
function startLoad(url: string, workspace: TestWorkspace, publishText: (text: string) => Promise<unknown>) {
  const posted = new Map<string, Promise<string>>();
  const published = new Map<string, Promise<unknown>>();
  const polled: string[] = [];
  const pollFaults: string[] = [];
  const over = new AbortController();
  const answer = async (text: string): Promise<string> => {
    const event = { id: text, type: "message", channel: "c1", user: { id: "u1" }, text };
    const { status: code, body } = await post(url, workspace, event);
    return code === 202 ? "202" : `${code} ${body.toString()}`;
  };
  const timers = [
    setInterval(() => {
      const text = `post ${posted.size}`;
      posted.set(text, answer(text).catch(String));
    }, POST_EVERY_MS),
    setInterval(() => {
      const text = `publish ${published.size}`;
      published.set(text, publishText(text).catch(String));
    }, PUBLISH_EVERY_MS),
  ];
  const polling = (async () => {
    let cursor = "";
    while (!over.signal.aborted || polled.length < published.size) {
      const { status: code, json } = await poll(url, workspace, cursor && `after=${cursor}`);
      if (code !== 200) pollFaults.push(String(code));
      const { events, next } = json as PolledPage;
      polled.push(...events.map(({ message }) => message.text));
      cursor = next ?? "";
      await new Promise((resolve) => setTimeout(resolve, PUBLISH_EVERY_MS));
    }
  })();
  return {
    posted,
    published,
    polled,
    pollFaults,
    async stop(): Promise<void> {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([...posted.values(), ...published.values()]);
      over.abort();
      await polling;
    },
  };
}

interface PolledPage {
  readonly events: readonly { readonly message: { readonly text: string } }[];
  readonly next: string | null;
}

test("while every core and edge is replaced under load, each request is answered on its first attempt, and each event is delivered once", async () => {
  const redis = await startTestRedis();
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
  const address = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(",")}`;
  const processes: TestProcess[] = [];
  const keep = async (starting: Promise<TestProcess>): Promise<TestProcess> => {
    const process = await starting;
    processes.push(process);
    return process;
  };
  const newCore = (place: number) =>
    keep(startCore(redis.url, { ...DRAIN, CORE_LISTEN: `127.0.0.1:${ports[place]}` }));
  const newEdge = () => keep(startEdge(0, { ...DRAIN, CORE_ADDRESS: address }));
  const closers: (() => unknown)[] = [];
  try {
    const cores = [await newCore(0), await newCore(1)];
    const edges = [await newEdge(), await newEdge()];
    const balancer = await startBalancer(edges);
    closers.push(balancer.close);
    const setup = connectToCore(ports[0] ?? 0);
    const workspace = await createWorkspaceApi(setup.workspaces).make();
    setup.close();
    const games = new GameServiceClient(address, credentials.createInsecure(), {
      "grpc.max_reconnect_backoff_ms": 1_000,
      "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    });
    closers.push(() => games.close());
    const follower = followForever(games);
    closers.unshift(follower.close);
    await follower.opened();
    const clients = { games } as ReturnType<typeof connectToCore>;
    const load = startLoad(balancer.url, workspace, (text) =>
      publish(clients, textEvent(workspace.id, text)),
    );
    const more = async (): Promise<unknown> => {
      const before = load.posted.size;
      return until("more requests are sent", () => load.posted.size >= before + BETWEEN);
    };
    await more();
    for (const [place, core] of cores.entries()) {
      await newCore(place + 2);
      expect(await core.stop()).toBe(0);
      await more();
    }
    for (const edge of edges) {
      balancer.add(await newEdge());
      expect(await edge.stop()).toBe(0);
      await more();
    }
    await load.stop();
    const answers = new Set(await Promise.all(load.posted.values()));
    expect([...answers]).toEqual(["202"]);
    expect(load.pollFaults).toEqual([]);
    const outcomes = await Promise.all(load.published.values());
    expect(outcomes.filter((outcome) => typeof outcome === "string")).toEqual([]);
    // The events of concurrent calls can be stored in any order.
    expect(load.polled.toSorted()).toEqual([...load.published.keys()].toSorted());
    await until("every event is followed", () => follower.count() >= load.posted.size);
    const followed = await follower.close();
    expect(followed.toSorted()).toEqual([...load.posted.keys()].toSorted());
    expect(follower.ends).toEqual(
      follower.ends.map(() => [status.UNAVAILABLE, "core is stopping: open the stream again"]),
    );
  } finally {
    for (const close of closers) await close();
    for (const process of processes.toReversed()) await process.stop("SIGKILL");
    await redis.close();
  }
});
