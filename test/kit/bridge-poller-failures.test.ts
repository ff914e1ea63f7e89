import { setTimeout as sleep } from "node:timers/promises";
import type { CursorStore } from "../../bridge/cursor-store";
import { PollRefused } from "../../bridge/poll";
import { runPoller } from "../../bridge/poller";
import {
  closeWithoutAnswer,
  garbage,
  reset,
  sayNothing,
  status,
  type Behaviour,
} from "../harness/behaviours";
import { nowSeconds, signatureOf } from "../harness/bridge";
import { cursorAt, pageOf, SECRET, startPolledService, type PolledService } from "../harness/polled-service";
import { create, head } from "../harness/sample-events";
import { until } from "../harness/wait";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(() => service.close());

test.each([
  ["a time-out", sayNothing()],
  ["a connection that is dropped", reset()],
  ["a connection that is closed without an answer", closeWithoutAnswer()],
  ["an answer that is not HTTP", garbage()],
  ["a 500", status(500)],
  ["a 503", status(503)],
  ["a 429", status(429)],
  // contract: kit-verify-first
  ["a page that is not signed", status(200, { body: '{"events":[],"next":"9"}' })],
  ["a page that somebody else signed", pageOf({ next: "9" }, (body) => signatureOf("other", body))],
  // contract: signature-bridge-tolerance
  [
    "a page that was signed too long ago",
    pageOf({ next: "9" }, (body) => signatureOf(SECRET, body, nowSeconds() - 301)),
  ],
  [
    "what is signed and no page",
    status(200, { headers: { "Service-Signature": signatureOf(SECRET, "[]") }, body: "[]" }),
  ],
])(
  "after %s the same cursor is polled again, ever more slowly, and nothing is handled",
  async (_what, no) => {
    const cursors = await cursorAt("1");
    const { queries, pages, pauses, problems, cursor } = await service.run(
      [no, no, pageOf({ next: "2" }), no],
      {
        cursors,
        // What is answered has to be in time, however busy the machine.
        timeoutMs: 3_000,
      },
    );
    expect(queries).toEqual(["?after=1", "?after=1", "?after=1", "?after=2", "?after=2"]);
    expect([pages.length, cursor]).toEqual([1, "2"]);
    expect(pauses.slice(0, 4)).toEqual([2000, 4000, 2000, 2000]);
    expect(problems).toHaveLength(3);
  },
);

test("back-off is bounded", async () => {
  const { pauses } = await service.run(Array<Behaviour>(7).fill(status(500)));
  expect(pauses.slice(0, 7)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

// contract: kit-retry-same-id
test.each([
  [429, "7", 7_000],
  [503, "60", 60_000],
  [429, "1", 2_000],
  [429, "2592000", 2_592_000_000],
])("after a %i with Retry-After %s the poller waits %i ms", async (code, after, ms) => {
  const { pauses } = await service.run([status(code, { headers: { "Retry-After": after } })]);
  expect(pauses[0]).toBe(ms);
});

describe("what no timer can wait for at once is waited for all the same, without another poll", () => {
  test.each([
    ["a Retry-After of 30 days", status(429, { headers: { "Retry-After": "2592000" } }), {}],
    ["an interval of 30 days", pageOf(), { intervalMs: 2_592_000_000 }],
    ["an interval without an end", pageOf(), { intervalMs: Infinity }],
    ["a back-off without an end", status(500), { intervalMs: Infinity }],
  ])("%s", async (_what, answer, options) => {
    service.behave(answer);
    const over = new AbortController();
    const report = () => undefined;
    const ended = runPoller({ ...service.options(), ...options, report, signal: over.signal });
    await until("it polls", () => service.requests.length > 0);
    await sleep(300);
    expect(service.requests.length).toBe(1);
    over.abort();
    await ended;
  });

  test("a poll that may take for ever", async () => {
    expect((await service.run([pageOf()], { timeoutMs: Infinity })).problems).toEqual([]);
  });
});

// contract: signature-any
test("during a rotation a page is good when any entry is right under any secret", async () => {
  const body = JSON.stringify({ events: [], next: "5", hasMore: false, gap: false });
  const [old, fresh] = ["old", "fresh"].map((secret) => signatureOf(secret, body));
  const signature = `${fresh},${old?.split(",")[1]}`;
  const page = status(200, { headers: { "Service-Signature": signature }, body });
  for (const secrets of ["old", "fresh", ["newest", "fresh"]]) {
    expect((await service.run([page], { secrets })).cursor).toBe("5");
  }
  expect((await service.run([page], { secrets: "other" })).cursor).toBeUndefined();
});

// contract: kit-no-retry-4xx
test.each([400, 401, 403, 404, 409, 301])(
  "a %i ends the poller, which keeps its cursor and says why",
  async (code) => {
    const body = JSON.stringify({ statusCode: code, message: "no", field: "after" });
    const { error, cursor, requests } = await service.run([status(code, { body })], {
      cursors: await cursorAt("1"),
    });
    expect(error).toBeInstanceOf(PollRefused);
    expect(error).toMatchObject({
      status: code,
      field: "after",
      message: `the service answered ${code}: no`,
    });
    expect([cursor, requests.length]).toEqual(["1", 1]);
  },
);

test("an event that nothing can be made of is told of and holds nothing up", async () => {
  const events = [{ ...head(1), type: "message.pin" }, create(2)];
  const { pages, problems, cursor } = await service.run([pageOf({ events, next: "2" })]);
  expect(pages[0]?.events).toEqual([create(2)]);
  expect(problems).toEqual([expect.stringContaining("message.pin")]);
  expect(cursor).toBe("2");
});

test("a cursor that cannot be kept is told of and holds nothing up; it is kept as soon as it can be", async () => {
  const saves: string[] = [];
  const cursors: CursorStore = {
    load: async () => undefined,
    async save(cursor) {
      saves.push(cursor);
      if (saves.length === 1) throw new Error("the disk is full");
    },
  };
  const pages = [pageOf({ next: "1" }), pageOf({ next: "1" }), pageOf({ next: "1" })];
  const { queries, problems } = await service.run(pages, { cursors });
  expect(queries).toEqual(["", "?after=1", "?after=1", "?after=1"]);
  expect(saves).toEqual(["1", "1"]);
  expect(problems).toEqual(["the cursor was not kept: the disk is full"]);
});
