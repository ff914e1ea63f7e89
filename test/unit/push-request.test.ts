import { Duplex } from "node:stream";
import { createSecureContext } from "node:tls";
import { createPushClient } from "../../core/delivery/push-client";
import { createPushConnections } from "../../core/delivery/push-connections";
import { sendPush, type PushAnswer, type PushProgress } from "../../core/delivery/push-request";
import type { PushAttempt } from "../../core/ports/outside";

const ATTEMPT: PushAttempt = {
  url: new URL("https://bridge.example/events?x=1"),
  eventId: "evt_1",
  workspaceId: "w",
  signature: "t=0,v1=00",
  envelope: Buffer.from("{}"),
};
const DEADLINE_MS = 5_000;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n";

/** Returns a bridge that the test simulates by hand. The test holds the bridge's end of each connection. */
function bridgeByHand(max?: { inAll: number; ofOrigin: number }) {
  const sockets: Duplex[] = [];
  const unwritten: (() => void)[] = [];
  let isRead = true;
  const open = async () => {
    const write = (_bytes: Buffer, _encoding: string, written: () => void): void =>
      isRead ? written() : void unwritten.push(written);
    const socket = new Duplex({ read() {}, write });
    sockets.push(socket);
    return socket;
  };
  const connections = createPushConnections(open, max);
  return {
    sockets,
    connections,
    /** Sets whether the bridge reads requests from now on. */
    reads(does: boolean) {
      isRead = does;
      for (const written of does ? unwritten.splice(0) : []) written();
    },
    /** Returns whether each connection is open, in the order in which the connections were made. */
    open: () => sockets.map(({ destroyed }) => !destroyed),
    /** Answers on the connection with the index `at`. */
    async answer(bytes: string, at = 0) {
      sockets[at]?.push(bytes);
      await pass(0);
    },
    /** Sends a push. Returns objects that receive the progress and the results as these become known. */
    async push(attempt = ATTEMPT, connect = connections.connect) {
      const progress: PushProgress = { connection: undefined, isLate: false };
      const results: (number | string)[] = [];
      const responses: (string | undefined)[] = [];
      const note = (end: PushAnswer | Error) => {
        results.push(end instanceof Error ? end.message : end.status);
        if (end instanceof Error) return;
        const { response } = end;
        responses.push(response && `${String(response.bytes)}${response.isTruncated ? "…" : ""}`);
      };
      sendPush(connect, attempt, DEADLINE_MS, progress).then(note, note);
      await pass(0);
      return { progress, results, responses };
    },
  };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

// time: controlled
test("an attempt that is aborted ends immediately, and an abort after the answer does not close the connection", async () => {
  const bridge = bridgeByHand();
  const [early, late] = [new AbortController(), new AbortController()];
  const { results } = await bridge.push({ ...ATTEMPT, signal: early.signal });
  early.abort();
  await pass(0);
  expect([results.length, bridge.open()]).toEqual([1, [false]]);
  const second = await bridge.push({ ...ATTEMPT, signal: late.signal });
  await bridge.answer(`${HEAD}\r\ndone`, 1);
  late.abort();
  await pass(0);
  expect([second.results, bridge.open()]).toEqual([[200], [false, true]]);
  bridge.connections.close();
});

/**
 * Bridges that do not answer in time, with the text that each sends first, and the text that it then sends every
 * second.
 */
const STALLS: readonly (readonly [what: string, first: string, everySecond: string])[] = [
  ["gives no answer", "", ""],
  ["sends interim answers only", "", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ["sends one byte of a header per second", HEAD, "x"],
];

// time: controlled
// contract: push-deadline, push-2xx
test.each(STALLS)("an attempt ends after 5 s if the bridge %s", async (_what, first, everySecond) => {
  const bridge = bridgeByHand();
  const { progress, results } = await bridge.push();
  const [socket] = bridge.sockets;
  if (first !== "") socket?.push(first);
  for (let second = 1; second < 5; second++) {
    await pass(1_000);
    if (everySecond !== "") socket?.push(everySecond);
  }
  await pass(999);
  expect([results, progress.isLate, bridge.open()]).toEqual([[], false, [true]]);
  await pass(1);
  expect([results, progress.isLate, bridge.open()]).toEqual([["the deadline has passed"], true, [false]]);
});

// time: controlled
// contract: push-deadline
test("an answer whose status arrives before the deadline counts; if its body is incomplete at the deadline, the connection is closed", async () => {
  const bridge = bridgeByHand();
  const { progress, results } = await bridge.push();
  await pass(DEADLINE_MS - 1);
  await bridge.answer(`${HEAD}\r\nok`);
  expect([results, progress.isLate, bridge.open()]).toEqual([[200], false, [true]]);
  await pass(1);
  expect([results, progress.isLate, bridge.open()]).toEqual([[200], false, [false]]);
});

const REJECTED = "HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\n";

// time: controlled
test.each([
  ["its whole body has arrived", 1_000, 100, "dy", "body"],
  ["250 ms have passed since its head", 1_000, 250, "", "bo…"],
  ["the bridge closes the connection", 1_000, 100, null, "bo"],
  ["the deadline has passed", DEADLINE_MS - 100, 100, "", "bo…"],
])("an attempt that the bridge rejects ends when %s", async (_when, headMs, afterMs, last, response) => {
  const bridge = bridgeByHand();
  const { results, responses } = await bridge.push();
  await pass(headMs);
  await bridge.answer(`${REJECTED}bo`);
  await pass(afterMs - 1);
  expect(results).toEqual([]);
  if (last === null) bridge.sockets[0]?.push(null);
  else if (last !== "") bridge.sockets[0]?.push(last);
  await pass(1);
  expect([results, responses]).toEqual([[500], [response]]);
});

// time: controlled
test("an attempt that the bridge rejects ends as soon as the answer is complete, or 1,024 bytes of its body have arrived", async () => {
  const bridge = bridgeByHand();
  const complete = await bridge.push();
  await bridge.answer(`${REJECTED}body`);
  expect([complete.results, complete.responses]).toEqual([[500], ["body"]]);
  const long = await bridge.push();
  await bridge.answer(`HTTP/1.1 403 X\r\nContent-Length: 9999\r\n\r\n${"x".repeat(1_025)}`);
  expect([long.results, long.responses]).toEqual([[403], [`${"x".repeat(1_024)}…`]]);
  const empty = await bridge.push();
  await bridge.answer("HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", 1);
  expect([empty.results, empty.responses]).toEqual([[404], [undefined]]);
});

// time: controlled
test("a connection made after the deadline is not used, even if the timer has not fired", async () => {
  const bridge = bridgeByHand();
  const { progress, results } = await bridge.push(ATTEMPT, async (url) => {
    const connection = await bridge.connections.connect(url);
    jest.spyOn(performance, "now").mockReturnValue(performance.now() + DEADLINE_MS);
    return connection;
  });
  jest.restoreAllMocks();
  expect(progress).toEqual({ connection: undefined, isLate: true });
  expect([results.length, bridge.open()]).toEqual([1, [false]]);
});

// time: controlled
test.each([
  ["an answer", 3_999, true, `${HEAD}\r\nbody`],
  ["an answer", 4_000, false, `${HEAD}\r\nbody`],
  ["an answer with a long keep-alive", 6_999, true, `${HEAD}Keep-Alive: timeout=9\r\n\r\nbody`],
  ["an answer with a long keep-alive", 7_000, false, `${HEAD}Keep-Alive: timeout=9\r\n\r\nbody`],
  ["an answer with a short keep-alive", 0, false, `${HEAD}Keep-Alive: timeout=2\r\n\r\nbody`],
  ["an answer whose body is incomplete", 0, false, `${HEAD}\r\n`],
  ["a 204 that announces a body", 0, false, "HTTP/1.1 204 X\r\nContent-Length: 4\r\n\r\n"],
])("after %s and an idle time of %d ms, the connection is reused: %s", async (_what, ms, isUsed, answer) => {
  const bridge = bridgeByHand();
  const { results } = await bridge.push();
  await bridge.answer(answer);
  await pass(ms);
  await bridge.push();
  expect([results.length, bridge.sockets.length]).toEqual([1, isUsed ? 1 : 2]);
});

// time: controlled
test.each([
  ["Keep-Alive: timeout=9\r\n", 3_999, "", 4_000],
  ["", 3_999, "Keep-Alive: timeout=9\r\n", 7_000],
  ["Keep-Alive: timeout=60\r\n", 6_000, "", 4_000],
])(
  "after an answer with the header %j, and %d ms later an answer with %j, the connection closes after %d idle ms",
  async (first, laterMs, last, idleMs) => {
    const bridge = bridgeByHand();
    await bridge.push();
    await bridge.answer(`${HEAD}${first}\r\nbody`);
    await pass(laterMs);
    await bridge.push();
    await bridge.answer(`${HEAD}${last}\r\nbody`);
    await pass(idleMs - 1);
    expect(bridge.open()).toEqual([true]);
    await pass(1);
    expect(bridge.open()).toEqual([false]);
  },
);

// time: controlled
test("unsolicited bytes close the connection and never become the answer to the next push", async () => {
  const bridge = bridgeByHand();
  const before = await bridge.push();
  await bridge.answer("HTTP/1.1 204 X\r\n\r\n");
  bridge.sockets[0]?.push("HTTP/1.1 204 X\r\n\r\n");
  const after = await bridge.push();
  expect([before.results, after.results, bridge.open()]).toEqual([[204], [], [false, true]]);
});

test("a connection is not reused while a request that was answered early is still being sent", async () => {
  const bridge = bridgeByHand();
  bridge.reads(false);
  const { results } = await bridge.push();
  await bridge.answer("HTTP/1.1 204 X\r\n\r\n");
  await bridge.push();
  expect([results, bridge.sockets.length]).toEqual([[204], 2]);
  bridge.reads(true);
  await pass(0);
  await bridge.push();
  expect([bridge.open(), bridge.sockets.length]).toEqual([[true, true], 2]);
});

test("if too many connections are kept open, in total or to one origin, the oldest one is closed", async () => {
  const bridge = bridgeByHand({ inAll: 3, ofOrigin: 2 });
  for (const [index, host] of ["a", "a", "a", "b", "b", "b"].entries()) {
    await bridge.push({ ...ATTEMPT, url: new URL(`https://${host}.example/`) });
    // The body of the answer is incomplete, so the next push needs a new connection.
    await bridge.answer(`${HEAD}\r\n`, index);
  }
  expect(bridge.open()).toEqual([false, false, true, false, true, true]);
  bridge.connections.close();
  expect(bridge.open()).toEqual(Array(6).fill(false));
});

// time: controlled
// contract: push-deadline
test("the deadline of a push attempt is 5 seconds, including the DNS lookup", async () => {
  const names = { addresses: () => new Promise<never>(() => {}) };
  const context = createSecureContext();
  const client = createPushClient({ names, allow: [], secureContext: () => context });
  const outcome = jest.fn();
  void client.push(ATTEMPT).then(outcome);
  await pass(4_999);
  expect(outcome).not.toHaveBeenCalled();
  await pass(1);
  expect(outcome).toHaveBeenCalledWith({
    ok: false,
    status: undefined,
    latencyMs: 5_000,
    address: undefined,
    failure: "timeout",
    detail: "the bridge did not accept a connection within 5 seconds",
  });
  // `close` is not awaited: it completes in real time, and leaves nothing open.
  void client.close();
});
