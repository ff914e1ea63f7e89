import { EventEmitter, setMaxListeners } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { Metadata, type ClientReadableStream } from "@grpc/grpc-js";
import fastify from "fastify";
import type { Caller } from "../../core/domain/caller";
import { createPendingAcks } from "../../core/operations/pending-acks";
import type { FollowLog } from "../../core/ports/follow-log";
import { setCaller } from "../../core/rpc/call-caller";
import { createWatchHandler, type WatchContext, type WatchStream } from "../../core/rpc/watch-stream";
import { createSignInLimit } from "../../edge/dashboard/sign-in-limit";
import { addWatchRoute } from "../../edge/dashboard/watch-route";
import type { Operator } from "../../edge/dashboard/workspace-client";
import {
  DeliveryResult,
  LoggedDelivery,
  type WatchWorkspaceResponse,
} from "../../proto/gen/chatbridge/v1/workspace";
import { newWorkspace } from "../harness/new-workspace";
import { after, OK, queuedMany, testShard } from "../harness/test-shard";
import { until } from "../harness/wait";

// Each of these tests exceeds one or more of the bounds in docs/metrics.md. Other bounds are tested in other files.

test("an edge counts the sign-in attempts from at most 10,000 addresses; a further address replaces the least recently seen address", () => {
  const { refuse } = createSignInLimit();
  const places = Array.from({ length: 10_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
  for (let i = 0; i < 11; i++) refuse("192.0.2.1");
  expect(refuse("192.0.2.1")).toBeGreaterThan(0);
  for (const place of places) refuse(place);
  expect(refuse("192.0.2.1")).toBeUndefined();
});

test("a Follow stream keeps at most 10,000 unwritten acks; a further ack is dropped", async () => {
  const written: string[] = [];
  const log = { ack: async (_group: string, _shard: number, ids: string[]) => void written.push(...ids) };
  const acks = createPendingAcks(log as Partial<FollowLog> as FollowLog, "g");
  const taken = Array.from({ length: 10_001 }, (_, i) => acks.add(i % 2, `${i}-0`));
  expect(taken.indexOf(false)).toBe(10_000);
  await Promise.all([acks.write(0), acks.write(1)]);
  expect([written.length, acks.shards, acks.add(0, "1-1")]).toEqual([10_000, [], true]);
});

describe("the pushes of a shard", () => {
  const shard = testShard();

  test("the pushes of a shard do not start while 1,000 outcomes wait to be recorded, and start when fewer outcomes wait", async () => {
    await shard().run(1_000, { answer: () => after(1, OK), queue: queuedMany(1_100), records: "away" });
    // When the 1,000th outcome starts waiting, 16 more attempts are already in progress.
    expect(shard().attempts).toHaveLength(1_016);
    await shard().wait(1_000, { records: "taken" });
    expect([shard().attempts.length, shard().recorded.length]).toEqual([1_100, 1_100]);
  });

  test("the pushes of a shard are not dropped as too late while 1,000 outcomes wait to be recorded, but are dropped when fewer outcomes wait", async () => {
    const hang = (): Promise<never> => new Promise(() => {});
    await shard().run(14_000, { answer: hang, queue: queuedMany(1_300), records: "away" });
    expect([shard().attempts.length, shard().drops.length]).toEqual([16, 1_000]);
    await shard().wait(1_000, { records: "taken" });
    expect(shard().drops).toHaveLength(1_284);
  });
});

describe("a watch of a workspace", () => {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  /** @param fresh the number of new deliveries that each read of the log returns */
  const watchesOf = (fresh: number): ((stream: WatchStream) => void) => {
    const context = {
      now: Date.now,
      workspaces: { read: async () => ({ workspace: newWorkspace(), version: 1 }) },
      workspaceStates: { read: async () => [] },
      refusedRequests: { read: async () => ({ buckets: [], refusals: [] }) },
      inboundLog: { firstAtMs: async () => undefined },
      pollWatch: { health: async () => ({ waiting: 0 }) },
      deliveryLog: {
        watch: async () => async () =>
          Array.from({ length: fresh }, (_, i) => ({ id: `${i}-0`, eventType: "ping" })),
        read: async () => [],
      },
      stopping: stop.signal,
    };
    return createWatchHandler(context as unknown as WatchContext, () => undefined);
  };
  afterAll(() => stop.abort());

  /** Opens a stream whose client reads nothing. The returned `faults` lists the errors that end the stream. */
  function open(
    watch: (stream: WatchStream) => void,
    caller: Caller = { name: "ann", workspaces: undefined },
  ) {
    const metadata = new Metadata();
    setCaller(metadata, caller, new AbortController().signal);
    const stream = Object.assign(new EventEmitter(), {
      metadata,
      request: { workspaceId: newWorkspace().id },
      writableLength: 0,
      faults: [] as unknown[],
      write(): void {
        this.writableLength += 1;
      },
    });
    stream.once("error", (error) => stream.faults.push(error));
    watch(stream as unknown as WatchStream);
    return stream;
  }
  const naming = (what: string) => [{ details: expect.stringContaining(what) as string }];

  test("a watch of a workspace ends when its client leaves 1,000 changes unread", async () => {
    const stream = open(watchesOf(200));
    await until("the watch has ended", () => stream.faults.length > 0);
    expect(stream.faults).toMatchObject(naming("1000 changes"));
    expect(stream.writableLength).toBeLessThan(1_300);
  });

  test("a watch of a workspace is rejected if 500 watches of its token or 1,000 of all tokens are open, and accepted when another watch has ended", async () => {
    const watch = watchesOf(0);
    const as = (name: string): Caller => ({ name, workspaces: undefined });
    const [first] = Array.from({ length: 500 }, () => open(watch));
    expect(open(watch).faults).toMatchObject(naming("the token ann already has 500 watches"));
    const neighbours = Array.from({ length: 500 }, () => open(watch, as("eve")));
    expect(neighbours.flatMap(({ faults }) => faults)).toEqual([]);
    expect(open(watch, as("bob")).faults).toMatchObject(naming("this core already has 1000 watches"));
    Object.assign(first ?? {}, { cancelled: true });
    first?.emit("cancelled");
    await until("there is room", () => open(watch, as("bob")).faults.length === 0);
  });
});

describe("a dashboard page with live updates", () => {
  const cores = new Set<PassThrough>();
  const watch = (): ClientReadableStream<WatchWorkspaceResponse> => {
    const core = Object.assign(new PassThrough({ objectMode: true }), { cancel: () => core.destroy() });
    cores.add(core);
    core.once("close", () => cores.delete(core));
    return core as unknown as ClientReadableStream<WatchWorkspaceResponse>;
  };
  const app = fastify({ forceCloseConnections: true });
  const over = new AbortController().signal;
  addWatchRoute(app, {
    async sessionOf({ headers }) {
      const [key = "", tokenName = ""] = String(headers["x-session"] ?? "s/t").split("/");
      return { over, key, token: "", tokenName, isLimited: false, endsAtMs: Infinity };
    },
    operatorOf: () => ({ watch }) as Partial<Operator> as Operator,
    stopping: over,
    report: () => undefined,
  });
  beforeAll(async () => void (await app.listen({ port: 0, host: "127.0.0.1" })));
  afterAll(() => app.close());
  /** Returns the session and the token that opened a page. Ten pages share a session, and 100 pages share a token. */
  const ownerOf = (page: number): string => `s${Math.floor(page / 10)}/t${Math.floor(page / 100)}`;
  const answerTo = async (owner: string): Promise<readonly [status: number, message: string]> => {
    const answer = await app.inject({ url: "/workspaces/w/watch", headers: { "x-session": owner } });
    return [answer.statusCode, answer.body];
  };
  /** Opens a page that requests live updates, but never reads the updates. */
  function open(_: unknown, of: number) {
    const page = connect({ host: "127.0.0.1", port: (app.server.address() as AddressInfo).port });
    page
      .on("error", () => undefined)
      .write(`GET /workspaces/w/watch HTTP/1.1\r\nHost: e\r\nX-Session: ${ownerOf(of)}\r\n\r\n`);
    return page;
  }

  test("a dashboard page is disconnected when it leaves 1 MB unread", async () => {
    const page = open(undefined, 0);
    await until("the page is connected", () => cores.size === 1);
    const [core] = cores;
    const event = { eventId: "e".repeat(1_000), result: DeliveryResult.SUCCESS };
    const value = LoggedDelivery.create({ ...event, id: "1-0", at: new Date() });
    await until("the page is disconnected", () => {
      for (let i = 0; i < 1_000; i++) core?.write({ change: { $case: "delivery", value } });
      return cores.size === 0;
    });
    page.destroy();
  });

  test("a dashboard page is answered with 503 if its session has 20 pages, or its token 100; pages of another token can still connect", async () => {
    const pages = Array.from({ length: 20 }, () => open(undefined, 0));
    await until("the pages of a session are connected", () => cores.size === 20);
    expect(await answerTo("s0/t0")).toEqual([503, expect.stringContaining("You have 20 pages open")]);
    pages.push(...Array.from({ length: 80 }, (_, i) => open(undefined, 10 + i)));
    await until("the pages of a token are connected", () => cores.size === 100);
    expect(await answerTo("s9/t0")).toEqual([503, expect.stringContaining("people with your token")]);
    pages.push(open(undefined, 100));
    await until("a page of another token is connected", () => cores.size === 101);
    for (const page of pages) page.destroy();
    await until("all pages have disconnected", () => cores.size === 0);
  });

  test("a dashboard page is answered with 503 if 200 pages are connected, and accepted when another page has disconnected", async () => {
    const pages = Array.from({ length: 200 }, open);
    await until("all pages are connected", () => cores.size === 200);
    expect(await answerTo("s20/t2")).toEqual([503, expect.stringContaining("Too many pages are watching")]);
    pages.pop()?.destroy();
    await until("the page has disconnected", () => cores.size === 199);
    pages.push(open(undefined, 200));
    await until("200 pages are connected again", () => cores.size === 200);
    for (const page of pages) page.destroy();
    await until("all pages have disconnected", () => cores.size === 0);
  });
});
