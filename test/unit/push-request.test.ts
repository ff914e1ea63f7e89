import { createSecureContext } from "node:tls";
import type { Dispatcher } from "undici";
import { createPushClient } from "../../core/delivery/push-client";
import { sendPush, type PushProgress } from "../../core/delivery/push-request";

const ATTEMPT = {
  url: new URL("https://bridge.example/events?x=1"),
  eventId: "evt_1",
  workspaceId: "w",
  signature: "t=0,v1=00",
  envelope: Buffer.from("{}"),
};
const DEADLINE_MS = 5_000;

/** What undici would say of a request, as the test says it. */
function sendByHand() {
  let handler: Dispatcher.DispatchHandler = {};
  const aborts: string[] = [];
  const controller = {
    abort: (error: Error) => void aborts.push(error.message),
  } as Dispatcher.DispatchController;
  const dispatch: Dispatcher["dispatch"] = (_options, given) => {
    handler = given;
    return true;
  };
  const progress: PushProgress = { status: undefined, isLate: false };
  const results: string[] = [];
  sendPush({ dispatch } as Dispatcher, ATTEMPT, DEADLINE_MS, progress).then(
    () => results.push("answered"),
    (error: Error) => results.push(error.message),
  );
  return {
    progress,
    results,
    aborts,
    start: (_status?: number) => handler.onRequestStart?.(controller, {}),
    respond: (status: number) => handler.onResponseStart?.(controller, status, {}),
    data: (bytes: number) => handler.onResponseData?.(controller, Buffer.alloc(bytes)),
    end: () => handler.onResponseEnd?.(controller, {}),
    fail: (error: Error) => handler.onResponseError?.(controller, error),
  };
}
type Sent = ReturnType<typeof sendByHand>;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** Bridges that are not done in time: how far they get at once, and what they do every second. */
const STALLS: readonly (readonly [string, ("start" | "respond")[], (sent: Sent) => void])[] = [
  ["takes no connection", [], () => {}],
  ["gives no answer", ["start"], () => {}],
  ["sends interim answers only", ["start"], (sent) => sent.respond(103)],
  ["sends headers and no body", ["start", "respond"], () => {}],
  ["sends a byte of the body a second", ["start", "respond"], (sent) => sent.data(1)],
];

// time: controlled
// contract: push-deadline, push-2xx
test.each(STALLS)(
  "an attempt ends when its 5 seconds are over where the bridge %s",
  async (_what, steps, everySecond) => {
    const sent = sendByHand();
    for (const step of steps) sent[step](200);
    for (let second = 1; second < 5; second++) {
      await pass(1_000);
      everySecond(sent);
    }
    await pass(999);
    expect([sent.results, sent.aborts, sent.progress.isLate]).toEqual([[], [], false]);
    await pass(1);
    const status = steps.includes("respond") ? 200 : undefined;
    expect([sent.results, sent.progress]).toEqual([["the deadline is over"], { status, isLate: true }]);
    expect(sent.aborts).toEqual(steps.length > 0 ? ["the deadline is over"] : []);
  },
);

// time: controlled
// contract: push-deadline
test("an answer is taken until the 5 seconds are over", async () => {
  const sent = sendByHand();
  sent.start();
  await pass(DEADLINE_MS - 1);
  sent.respond(204);
  sent.end();
  await pass(60_000);
  expect([sent.results, sent.progress, sent.aborts]).toEqual([
    ["answered"],
    { status: 204, isLate: false },
    [],
  ]);
});

// time: controlled
test("a connection made after the deadline is not used, though the timer has not fired", () => {
  const sent = sendByHand();
  jest.spyOn(performance, "now").mockReturnValue(performance.now() + DEADLINE_MS);
  sent.start();
  expect([sent.aborts.length, sent.progress.isLate]).toEqual([1, true]);
  jest.restoreAllMocks();
});

test("an answer is read up to 16 KB, and a request that breaks off fails", async () => {
  const [long, broken] = [sendByHand(), sendByHand()];
  for (const sent of [long, broken]) sent.start();
  long.respond(200);
  long.data(16 * 1024);
  await pass(0);
  expect([long.results, long.aborts]).toEqual([[], []]);
  long.data(1);
  broken.fail(new Error("ECONNRESET"));
  await pass(0);
  expect([long.results, long.aborts.length, broken.results]).toEqual([["answered"], 1, ["ECONNRESET"]]);
});

// time: controlled
// contract: push-deadline
test("the deadline of a pushed event is 5 seconds, the name look-up included", async () => {
  const client = createPushClient({
    names: { addresses: () => new Promise(() => {}) },
    allow: [],
    secureContext: createSecureContext(),
  });
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
    detail: "the bridge did not give a connection within 5 seconds",
  });
  // Not waited for: it ends in real time, and holds nothing.
  void client.close();
});
