import { Client, credentials, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { setCaller } from "../../core/rpc/call-caller";
import { serveLane, type LaneCalls } from "../../core/rpc/lane";
import { StatusError } from "../../core/rpc/status";
import { createCallCounts } from "../../core/rpc/call-counts";
import { CoreUnavailable } from "../../edge/lane/core-unavailable";
import type { Call } from "../../edge/lane/lane";
import { Lanes, type LanesOptions } from "../../edge/lane/lanes";
import {
  BridgeServiceService,
  type LaneResponse,
  type PollRequest,
} from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD } from "../../proto/lane-method";
import { many } from "../harness/for-all";
import { until } from "../harness/wait";

const MB = 1_048_576;
/** Maximum number of calls in a message to core, and of answers in a message to the edge. */
const MESSAGE_MAX = 32;
const PAGE_BYTES_MAX = 65_536;

/** Answers the polls that reach core; each test sets this function. The lanes and their connection are real. */
let answerPoll: LaneCalls["poll"];
let server: Server;
let client: Client;
let lanes: Lanes;
let stopping: AbortController;
/** The lanes opened so far: `streams` contains core's end of each lane, and `edgeStreams` the edge's end. */
let streams: Parameters<typeof serveLane>[0][];
let edgeStreams: ReturnType<LanesOptions["open"]>[];
let lanesOfCore: ReturnType<typeof createCallCounts>["lanes"];
/** The highest number of bytes of unsent answers that core has held at any time in this test. */
let mostHeld: number;
/** Whether core closes each new lane without an error, instead of accepting it. */
let endsNewLanes = false;
const report = jest.fn();
/** The number of calls in each message to core, and the number of answers in each message to the edge. */
let asked: number[];
let answered: number[];

/** Limits that let a single address or workspace use up the limit for all calls. */
const forAny = (all: number) => ({ all, address: all, workspace: all });

async function start(options: Partial<LanesOptions> = {}): Promise<void> {
  endsNewLanes = false;
  [asked, answered, streams, edgeStreams] = [[], [], [], []];
  stopping = new AbortController();
  server = new Server();
  report.mockClear();
  [mostHeld, lanesOfCore] = [0, watchHeld(createCallCounts().lanes)];
  const context = { stopping: stopping.signal, report, load: lanesOfCore };
  const calls: LaneCalls = {
    poll: (request) => answerPoll(request),
    receive: () => Promise.reject(new Error("no test sends an event")),
  };
  const { receive, poll } = BridgeServiceService;
  const lane = (stream: (typeof streams)[number]) => {
    streams.push(stream);
    if (endsNewLanes) return stream.end();
    stream.on("data", (request: { calls: unknown[] }) => asked.push(request.calls.length));
    setCaller(stream.metadata, { name: "edge", workspaces: undefined }, new AbortController().signal);
    serveLane(stream, calls, context);
  };
  server.addService({ receive, poll, lane: LANE_METHOD }, { lane });
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  lanes = new Lanes({
    open() {
      const stream = openStream();
      stream.on("data", ({ answers }) => answered.push(answers.length));
      edgeStreams.push(stream);
      return stream;
    },
    lanes: 2,
    inProgressMax: forAny(1_000),
    bytesMax: forAny(1_000_000),
    deadlineMs: 60_000,
    pollsEveryMs: 0,
    onRefused: jest.fn(),
    ...options,
  });
}
function openStream() {
  const { path, requestSerialize, responseDeserialize } = LANE_METHOD;
  return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
}

/** Starts to record the highest value of `load.answerBytes` in `mostHeld`. Returns `load`. */
function watchHeld(load: typeof lanesOfCore): typeof lanesOfCore {
  let held = 0;
  return Object.defineProperty(load, "answerBytes", {
    get: () => held,
    set(bytes: number) {
      held = bytes;
      mostHeld = Math.max(mostHeld, bytes);
    },
  });
}
afterEach(() => {
  lanes.close();
  jest.useRealTimers();
  client.close();
  server.forceShutdown();
});

const PAGES = Buffer.alloc(MB);
function pageFor({ workspaceId }: PollRequest, bytes = 1) {
  return { body: PAGES.subarray(0, bytes), signature: "", workspaceId };
}

function pollOf(workspaceId: string, queryString = "", sourceAddress = ""): Call {
  const value = { workspaceId, sourceAddress, signature: undefined, queryString, reading: undefined };
  return { $case: "poll", value };
}

/** Polls for a workspace; returns the workspace id of the page that arrives. */
function ask(workspaceId: string, bytes = 10, queryString?: string, address?: string): Promise<string> {
  const asking = lanes.call(pollOf(workspaceId, queryString, address), bytes).then((answer) => {
    const outcome = answer.$case === "poll" ? answer.value.outcome : undefined;
    if (outcome?.$case !== "page") throw new Error("the answer is not a page");
    return outcome.value.workspaceId;
  });
  // A failed test does not await its other calls, so their failures must not become unhandled rejections.
  asking.catch(() => undefined);
  return asking;
}

/**
 * Fakes `performance.now` and `setInterval`, which the lanes use for deadlines and for the pause before a broken lane
 * is reopened. The connection runs in real time.
 */
function stopTheClock(): void {
  const others = ["Date", "hrtime", "nextTick", "queueMicrotask", "setImmediate", "setTimeout"] as const;
  jest.useFakeTimers({ doNotFake: [...others, "clearImmediate", "clearTimeout"] });
}

/** Posts an event, which core always rejects in these tests. */
function post(): Promise<unknown> {
  const value = {
    workspaceId: "posting",
    sourceAddress: "",
    signature: undefined,
    body: Buffer.alloc(0),
    reading: undefined,
  };
  return lanes.call({ $case: "receive", value }, 10);
}

/** Makes core delay the polls for which `waits` returns true. Returns a function that ends this delay. */
function holdPolls(waits: (workspaceId: string) => boolean, bytes = 1): () => void {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  answerPoll = async (request) => {
    if (waits(request.workspaceId)) await released;
    return pageFor(request, bytes);
  };
  return release;
}

/** Starts to record the workspace of each page that is released. */
function noteReleases(): readonly string[] {
  const released: string[] = [];
  const answer = answerPoll;
  answerPoll = async (request) => {
    const release = (): void => void released.push(request.workspaceId);
    return { ...(await answer(request)), release };
  };
  return released;
}

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `w${i}`);
/** Polls for all workspaces; fails unless each poll gets its own page. */
async function askAll(all: readonly string[]): Promise<void> {
  expect(await Promise.all(all.map((name) => ask(name)))).toEqual(all);
}
/** Polls until a lane is open again. */
const askAgain = () => until("a lane is open again", () => ask("next").catch(() => undefined));

test("calls made in one turn of the event loop are sent in messages of at most 32 calls, and their answers are also sent together", async () => {
  await start();
  answerPoll = async (request) => pageFor(request);
  const all = names(3 * MESSAGE_MAX + 4);
  await askAll(all);
  // Messages on different lanes can arrive in any order.
  expect(asked.toSorted((a, b) => a - b)).toEqual([4, MESSAGE_MAX, MESSAGE_MAX, MESSAGE_MAX]);
  expect(Math.max(...answered)).toBeLessThanOrEqual(MESSAGE_MAX);
  expect(answered.length).toBeLessThan(all.length / 2);
});

test("waiting polls from several bridges are sent to core in one message with the next posted event", async () => {
  await start({ pollsEveryMs: 60_000 });
  holdPolls(() => false);
  expect(await ask("first")).toBe("first");
  const waiting: Promise<string>[] = [];
  for (const name of ["second", "third"]) {
    waiting.push(ask(name, 10, "", `address of ${name}`));
    await new Promise(setImmediate);
  }
  await expect(post()).rejects.toThrow("core answered with a fault");
  expect(await Promise.all(waiting)).toEqual(["second", "third"]);
  expect(asked).toEqual([1, 3]);
});

// time: controlled
test("a waiting poll is sent over another lane if the lane that would be used next breaks", async () => {
  stopTheClock();
  await start({ pollsEveryMs: 60_000 });
  holdPolls(() => false);
  await askAll(["first"]);
  await askAll(["second"]);
  const waiting = ask("third", 10, "", "another address");
  edgeStreams[0]?.emit("end");
  await expect(post()).rejects.toThrow("core answered with a fault");
  expect(await waiting).toBe("third");
  expect(lanes.load).toMatchObject({ open: 1, opened: 2 });
});

test("core sends a message of answers as soon as its pages reach the maximum size", async () => {
  await start({ lanes: 1 });
  const bytes = PAGE_BYTES_MAX / 2 + 1;
  answerPoll = async (request) => pageFor(request, bytes);
  await askAll(names(7));
  expect(answered).toEqual([2, 2, 2, 1]);
});

// time: ordering
test("a slow call does not delay the other calls in the same message", async () => {
  await start({ lanes: 1 });
  const release = holdPolls((name) => name === "slow");
  const slow = ask("slow");
  await askAll(names(MESSAGE_MAX - 1));
  expect([asked, lanes.load.calls]).toEqual([[MESSAGE_MAX], 1]);
  release();
  expect(await slow).toBe("slow");
});

test("each call gets its own answer, whenever the call is made and however long the answer takes", async () => {
  await start();
  answerPoll = async (request) => {
    for (let turns = Number(request.workspaceId.split("/")[1]); turns > 0; turns--) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return pageFor(request);
  };
  let number = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 2 * MESSAGE_MAX }), { maxLength: 8 }),
      async (turns) => {
        const asking: Promise<void>[] = [];
        for (const calls of turns) {
          asking.push(askAll(calls.map((takes) => `${number++}/${takes}`)));
          await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(asking);
        expect(lanes.load).toMatchObject({ calls: 0, bytes: 0 });
      },
    ),
    { numRuns: many(50) },
  );
});

test("a call that exceeds the limit of calls or bytes fails immediately; calls are accepted again once pending calls are answered", async () => {
  await start({ inProgressMax: forAny(3), bytesMax: forAny(100) });
  const release = holdPolls(() => true);
  const large = ask("large", 90);
  await expect(ask("too large", 11)).rejects.toThrow("too many calls are pending");
  const small = [ask("a", 1), ask("b", 1)];
  await expect(ask("one too many", 1)).rejects.toThrow("too many calls are pending");
  expect(lanes.load).toMatchObject({ calls: 3, bytes: 92, failures: { full: 2 } });
  release();
  expect(await Promise.all([large, ...small])).toEqual(["large", "a", "b"]);
  expect(await ask("again", 100)).toBe("again");
});

test.each([
  ["calls", { inProgressMax: { all: 5, address: 2, workspace: 3 } }],
  ["bytes", { bytesMax: { all: 5, address: 2, workspace: 3 } }],
])("one address or workspace cannot use up the %s of an edge", async (_what, options) => {
  await start(options);
  const release = holdPolls(() => true);
  const from = (sourceAddress: string, workspaceId: string) =>
    lanes.call(pollOf(workspaceId, "", sourceAddress), 1);
  const full = { message: "too many calls are pending" };
  const first = [from("a", "w1"), from("a", "w1")];
  await expect(from("a", "w2")).rejects.toMatchObject(full);
  const others = [from("b", "w1"), from("b", "w2")];
  await expect(from("c", "w1")).rejects.toMatchObject(full);
  others.push(from("c", "w2"));
  await expect(from("d", "w3")).rejects.toMatchObject(full);
  release();
  await Promise.all([...first, ...others]);
  await from("a", "w1");
  expect(lanes.load).toMatchObject({ calls: 0, bytes: 0, failures: { full: 3 } });
});

test("while an edge does not read answers, core stops accepting its calls; when the edge reads again, core answers all calls", async () => {
  await start();
  const polled = jest.fn();
  answerPoll = async (request) => {
    polled();
    return pageFor(request, MB / 8);
  };
  const edge = openStream().on("error", () => undefined);
  const pages: number[] = [];
  edge.on("data", ({ answers }: LaneResponse) => {
    for (const { number, answer } of answers) if (answer?.$case === "poll") pages.push(number);
  });
  const send = (number: number) => edge.write({ calls: [{ number, call: pollOf("w"), traceparent: "" }] });
  send(0);
  // grpc-js applies no backpressure before the first message, so the edge pauses only after the first answer.
  await until("the first call is answered", () => pages.length > 0);
  edge.pause();
  for (let number = 1; number < 400; number++) send(number);
  await until(
    "answers wait in the edge, and calls wait in core",
    () => edge.readableLength > 15 && streams[0]?.isPaused() === true && streams[0].readableLength > 0,
  );
  expect(lanesOfCore.answerBytes).toBeGreaterThanOrEqual(8 * MB);
  // Core stopped accepting calls when its unsent answers reached the limit. Earlier answers are in the buffers of
  // the streams.
  expect(polled.mock.calls.length).toBeLessThan(200);
  edge.resume();
  await until("all calls are answered", () => pages.length >= 400 && lanesOfCore.calls === 0);
  expect(pages.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, number) => number));
  expect(polled).toHaveBeenCalledTimes(400);
  expect(lanesOfCore).toMatchObject({ bytes: 0, answerBytes: 0 });
  expect(mostHeld).toBeLessThanOrEqual(32 * MB);
});

test.each([
  ["32 MB of unread answers for one lane", 1, 32],
  ["256 MB of unread answers for all lanes together", 10, 256],
])("core holds at most %s", async (_what, count, bound) => {
  await start({ lanes: count });
  const release = holdPolls(() => true, MB);
  const released = noteReleases();
  const all = names(count * MESSAGE_MAX * 2);
  const asking = Promise.allSettled(all.map((name) => ask(name)));
  await until("core has the calls", () => lanesOfCore.calls === count * MESSAGE_MAX * 2);
  for (const stream of edgeStreams) stream.pause();
  release();
  await until("core has answered the calls", () => mostHeld > (bound - 1) * MB);
  lanes.close();
  await asking;
  await until("core holds nothing for closed lanes", () => lanesOfCore.answerBytes === 0);
  expect(lanesOfCore).toMatchObject({ open: 0, calls: 0, bytes: 0 });
  expect(mostHeld).toBeLessThanOrEqual(bound * MB);
  // A page is released exactly once: after it was sent, when an error replaced it, or when its lane was closed.
  expect(released.toSorted()).toEqual(all.toSorted());
});

test("a page is released when it has been sent", async () => {
  await start();
  holdPolls(() => false, MB);
  const released = noteReleases();
  for (const name of names(3)) expect(await ask(name)).toBe(name);
  await until("the pages are released", () => released.length === 3);
  expect(released).toEqual(names(3));
});

test("the bodies of a lane's pending calls are at most 64 MB in total, and a call over that limit fails immediately", async () => {
  await start({ lanes: 1, bytesMax: forAny(Infinity) });
  const release = holdPolls(() => true);
  const body = "x".repeat(MB);
  const within = names(64).map((name) => ask(name, MB, body));
  await until("the calls are in progress", () => lanesOfCore.bytes === 64 * MB);
  await expect(ask("beyond", 1, "x")).rejects.toThrow("core cannot reach its store");
  release();
  await Promise.all(within);
  expect(await ask("again", MB, body)).toBe("again");
});

test("an invalid call and a call that hits a bug in core are answered with an error; core logs only the bug", async () => {
  await start();
  answerPoll = () => Promise.reject(new StatusError(status.INVALID_ARGUMENT, "reading is missing"));
  await expect(ask("wrong")).rejects.toThrow("core answered with a fault");
  expect(lanes.load.failures).toMatchObject({ "core-fault": 1, "store-away": 0 });
  expect(report).not.toHaveBeenCalled();
  answerPoll = () => Promise.reject(new Error("a bug"));
  await expect(ask("unlucky")).rejects.toThrow("core answered with a fault");
  expect(report).toHaveBeenCalledWith("Lane", new Error("a bug"));
});

// time: controlled
test("a call that is not answered within its deadline fails, and its late answer is not given to another call", async () => {
  stopTheClock();
  await start({ deadlineMs: 5_000 });
  const release = holdPolls((name) => name === "late");
  const late = jest.fn();
  ask("late").catch(late);
  await until("the call is in progress", () => asked.length === 1);
  await jest.advanceTimersByTimeAsync(4_999);
  expect(late).not.toHaveBeenCalled();
  // Deadlines are checked four times a second.
  await jest.advanceTimersByTimeAsync(251);
  expect(late).toHaveBeenCalledWith(new CoreUnavailable("no answer in time"));
  expect(lanes.load).toMatchObject({ calls: 0, bytes: 0, failures: { late: 1 } });
  const before = answered.length;
  release();
  await until("the late answer has arrived", () => answered.length > before);
  expect(await ask("next")).toBe("next");
});

test("when a lane breaks, its calls fail immediately, and later calls use a new lane", async () => {
  await start({ lanes: 1 });
  answerPoll = async (request) =>
    request.workspaceId === "broken" ? new Promise<never>(() => undefined) : pageFor(request);
  const broken = expect(ask("broken")).rejects.toThrow("the connection to core broke");
  await until("the call is in progress", () => asked.length === 1);
  streams[0]?.emit("error", { code: status.UNAVAILABLE });
  await broken;
  expect(lanes.load).toMatchObject({ calls: 0, bytes: 0, open: 0, failures: { broken: 1 } });
  expect(await askAgain()).toBe("next");
  expect(lanes.load).toMatchObject({ open: 1, opened: 2 });
});

// time: controlled
test("if the only lane breaks before a call is sent, the call fails and is never sent", async () => {
  stopTheClock();
  await start({ lanes: 1 });
  const polled = jest.fn();
  answerPoll = async (request) => {
    polled(request.workspaceId);
    return pageFor(request);
  };
  expect(await ask("first")).toBe("first");
  const unsent = expect(ask("unsent")).rejects.toThrow("no connection to core");
  edgeStreams[0]?.emit("end");
  await unsent;
  expect(lanes.load).toMatchObject({ calls: 0, bytes: 0, failures: { "no-connection": 1 } });
  jest.useRealTimers();
  expect(await askAgain()).toBe("next");
  expect(polled.mock.calls).toEqual([["first"], ["next"]]);
});

test.each([1, 2])("close() rejects every pending call, sent or not; number of lanes: %d", async (count) => {
  await start({ lanes: count });
  const release = holdPolls(() => true);
  const sent = count === 2 ? [ask("sent")] : [];
  await until("the call is in progress", () => lanesOfCore.calls === sent.length);
  const asking = Promise.allSettled([...sent, ask("not sent")]);
  lanes.close();
  for (const { status: outcome } of await asking) expect(outcome).toBe("rejected");
  expect(lanes.load).toMatchObject({ calls: 0, bytes: 0 });
  release();
});

test("a stopping core answers the calls in progress, and then closes the lane", async () => {
  await start({ lanes: 1 });
  const release = holdPolls(() => true);
  // The number of calls is a multiple of `MESSAGE_MAX`, so the last answer fills its message, and core sends that
  // message immediately.
  const all = names(2 * MESSAGE_MAX);
  const asking = askAll(all);
  await until("the calls are in progress", () => lanesOfCore.calls === all.length);
  stopping.abort();
  release();
  await asking;
  await until("the lane is closed", () => streams[0]?.writableEnded === true);
});

test("while core stops, it still answers every call, and no call fails", async () => {
  await start();
  answerPoll = async (request) => pageFor(request);
  await askAll(names(2 * MESSAGE_MAX));
  const release = holdPolls((name) => name === "slow");
  const slow = ask("slow");
  const asking: Promise<void>[] = [];
  for (let turn = 0; turn < 50; turn++) {
    if (turn === 5) stopping.abort();
    asking.push(askAll([`${turn}/a`, `${turn}/b`]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(asking);
  release();
  expect(await slow).toBe("slow");
  expect(Object.values(lanes.load.failures).every((count) => count === 0)).toBe(true);
  await until("the lane of the slow call is closed", () => lanesOfCore.open <= 2);
});

// time: ordering
test("after a renewal, calls use new lanes, and an old lane is closed once its calls are answered", async () => {
  await start({ lanes: 1 });
  const release = holdPolls((name) => name === "slow");
  const slow = ask("slow");
  await until("the call is in progress", () => asked.length === 1);
  lanes.renew();
  await until("the new lane is open", () => lanesOfCore.open === 2);
  expect(await ask("next")).toBe("next");
  expect([lanes.load.opened, lanes.load.open, edgeStreams[0]?.writableEnded]).toEqual([2, 2, false]);
  release();
  expect(await slow).toBe("slow");
  await until("the old lane is closed", () => lanes.load.open === 1 && lanesOfCore.open === 1);
  expect(lanes.load.failures.broken).toBe(0);
});

// time: ordering
test("a renewal is retried until core accepts the new lane, even if core or a proxy closes new lanes without an error", async () => {
  await start({ lanes: 1 });
  answerPoll = async (request) => pageFor(request);
  expect(await ask("first")).toBe("first");
  endsNewLanes = true;
  lanes.renew();
  await until("two new lanes have ended", () => streams.length >= 3);
  expect(await ask("meanwhile")).toBe("meanwhile");
  endsNewLanes = false;
  await until("the old lane is replaced", () => edgeStreams[0]?.writableEnded === true);
  expect(await ask("next")).toBe("next");
  await until("only the new lane is open", () => lanes.load.open === 1 && lanesOfCore.open === 1);
  expect(lanes.load.failures.broken).toBe(0);
});
