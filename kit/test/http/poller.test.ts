import { cursorInMemory, type CursorStore } from "../../cursor-store";
import type { EventPage } from "../../events";
import { PollRefused } from "../../poll";
import { runPoller, type PageProgress } from "../../poller";
import { garbage, reset, sayNothing, status } from "../../../test/harness/behaviours";
import { nowSeconds, signatureOf } from "../../../test/harness/bridge";
import { gate } from "../harness/gate";
import { cursorAt, pageOf, SECRET, startPolledService, type PolledService } from "../harness/polled-service";
import { create } from "../../../test/harness/sample-events";
import { fakeTimeouts, skipTime } from "../harness/skipped-time";
import { until } from "../../../test/harness/wait";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(async () => {
  jest.useRealTimers();
  await service.close();
});

// time: controlled
// contract: signature-query
test("a poll is a GET, and its signature covers the query string exactly as sent, even if the query string is empty", async () => {
  const t = 1_700_000_000;
  const signed = (body: string) => signatureOf(SECRET, body, t);
  const timing = skipTime(0, () => t * 1000);
  const answers = [pageOf({ next: null }, signed), pageOf({}, signed)];
  const { requests, queries } = await service.run(answers, { timing });
  expect(queries).toEqual(["", "", "?after=7"]);
  for (const [i, { method, path, headers, body }] of requests.entries()) {
    expect(headers["service-signature"]).toBe(signatureOf(SECRET, path.split("?")[1] ?? "", t + 2 * i));
    expect([method, body.length]).toEqual(["GET", 0]);
  }
  const limited = await service.run([pageOf()], { limit: 5 });
  expect(limited.queries).toEqual(["?limit=5", "?after=7&limit=5"]);
  const fromNow = await service.run([pageOf()], { start: "latest" });
  expect(fromNow.queries).toEqual(["?after=latest", "?after=7"]);
});

test("a cursor is sent exactly as it was received, regardless of the poller's `start`", async () => {
  const cursors = await cursorAt("0007");
  const { queries } = await service.run([pageOf({ next: "000123" })], { cursors, start: "latest" });
  expect(queries).toEqual(["?after=0007", "?after=000123"]);
});

// time: controlled
// contract: kit-poll-again
test("the poller polls again immediately while `hasMore` is true, and otherwise after 2 seconds", async () => {
  const { pages, pauses, queries } = await service.run([
    pageOf({ events: [create(1)], next: "1", hasMore: true }),
    pageOf({ events: [create(2)], next: "2", hasMore: true }),
    pageOf({ events: [create(3)], next: "3" }),
    // This page does not move the cursor, so the poller waits although `hasMore` is true.
    pageOf({ next: "3", hasMore: true }),
  ]);
  expect(pages.flatMap(({ events }) => events)).toEqual([create(1), create(2), create(3)]);
  expect(pauses.slice(0, 4)).toEqual([0, 0, 2000, 2000]);
  expect(queries).toEqual(["", "?after=1", "?after=2", "?after=3", "?after=3"]);
});

// time: controlled
test("the poller extends the configured interval by a random amount of up to 10 percent", async () => {
  const timing = skipTime(0.999);
  await service.run([pageOf()], { intervalMs: 5_000, timing });
  expect(timing.pauses[0]).toBe(5_500);
});

// time: controlled
// contract: kit-retry-same-id
test.each([
  ["a 429 with Retry-After: 7", status(429, { headers: { "Retry-After": "7" } }), {}, [7_000]],
  ["a 503 with Retry-After: 60", status(503, { headers: { "Retry-After": "60" } }), {}, [60_000]],
  ["a 503 with Retry-After: 7.5", status(503, { headers: { "Retry-After": "7.5" } }), {}, [7_500]],
  ["a short Retry-After", status(429, { headers: { "Retry-After": "1" } }), {}, [2_000]],
  ["a Retry-After of 30 days", status(429, { headers: { "Retry-After": "2592000" } }), {}, [2_592_000_000]],
  ["an interval of 30 days", pageOf(), { intervalMs: 2_592_000_000 }, [2_592_000_000]],
  ["an endless interval", pageOf(), { intervalMs: Infinity }, [Infinity]],
  ["an endless back-off", status(500), { intervalMs: Infinity }, [Infinity]],
  ["failures in a row", status(500), {}, [2000, 4000, 8000, 16_000, 30_000, 30_000]],
])("the poller waits as long as required: %s", async (_what, answer, options, ms) => {
  const answers = ms.map(() => answer);
  const { pauses } = await service.run(answers, options);
  expect(pauses.slice(0, ms.length)).toEqual(ms);
});

// time: controlled
test("the poller waits until the date of a Retry-After", async () => {
  const nowMs = 1_700_000_000_000;
  const timing = skipTime(0, () => nowMs);
  const later = { "Retry-After": new Date(nowMs + 60_000).toUTCString() };
  await service.run([status(503, { headers: later })], { timing });
  expect(timing.pauses[0]).toBe(60_000);
});

// time: controlled
test("a poll without an answer times out after 30 seconds, and is repeated", async () => {
  fakeTimeouts();
  const polled = service.run([sayNothing(), pageOf()], { cursors: await cursorAt("1") });
  await until("the first poll has arrived", () => service.requests.length === 1);
  jest.advanceTimersByTime(29_999);
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1);
  const { queries, problems } = await polled;
  expect(queries).toEqual(["?after=1", "?after=1", "?after=7"]);
  expect(problems).toEqual([expect.stringContaining("timeout")]);
  expect((await service.run([pageOf()], { timeoutMs: Infinity })).problems).toEqual([]);
});

// time: controlled
test.each([
  ["a connection reset", reset()],
  ["an answer that is not HTTP", garbage()],
  ["a 500", status(500)],
  ["a 429", status(429)],
  // contract: kit-verify-first
  ["an unsigned page", status(200, { body: '{"events":[],"next":"9"}' })],
  ["a page signed with another secret", pageOf({ next: "9" }, (body) => signatureOf("other", body))],
  // contract: signature-bridge-tolerance
  [
    "a page that was signed more than 5 minutes ago",
    pageOf({ next: "9" }, (body) => signatureOf(SECRET, body, nowSeconds() - 301)),
  ],
  ["a signed body that is not a page", pageOf({ events: 1 })],
])("after %s, the poller handles no page, and later polls again with the same cursor", async (_what, no) => {
  const cursors = await cursorAt("1");
  const run = await service.run([no, no, pageOf({ next: "2" }), no], { cursors });
  expect(run.queries).toEqual(["?after=1", "?after=1", "?after=1", "?after=2", "?after=2"]);
  expect([run.pages.length, run.cursor]).toEqual([1, "2"]);
  expect(run.pauses.slice(0, 4)).toEqual([2000, 4000, 2000, 2000]);
  expect(run.problems).toHaveLength(3);
});

test("the error about a page with a stale signature says whether the timestamp is in the past or in the future", async () => {
  const old = pageOf({ next: "9" }, (body) => signatureOf(SECRET, body, nowSeconds() - 3_960));
  const { problems } = await service.run([old]);
  expect(problems).toEqual([
    expect.stringMatching(/^a page was dropped: .* 66 minutes behind the local clock/),
  ]);
});

// contract: kit-no-retry-4xx
test.each([400, 401, 403, 404, 409, 301])(
  "the poller stops after a %i, and keeps its cursor",
  async (code) => {
    const body = JSON.stringify({ statusCode: code, message: "no", field: "after" });
    const cursors = await cursorAt("1");
    const { error, cursor, requests } = await service.run([status(code, { body })], { cursors });
    expect(error).toBeInstanceOf(PollRefused);
    expect(error).toMatchObject({
      status: code,
      field: "after",
      message: expect.stringMatching(`^the service answered with ${code}: no`),
    });
    expect([cursor, requests.length]).toEqual(["1", 1]);
  },
);

// contract: kit-gap
test("a gap is passed to the handler, and the poller continues from `next`", async () => {
  const page = pageOf({ gap: true, next: "9" });
  const { pages, queries } = await service.run([page], { cursors: await cursorAt("1") });
  expect(pages).toEqual([{ events: [], next: "9", hasMore: false, gap: true }]);
  expect(queries).toEqual(["?after=1", "?after=9"]);
});

// time: controlled
// contract: kit-refused-create
test("the cursor moves only after the handler succeeds; after each failure, the same page is polled again", async () => {
  let tries = 0;
  const cursors = await cursorAt("1");
  const kept: (string | undefined)[] = [];
  const page = pageOf({ events: [create(1)], next: "2" });
  const { queries, pauses, problems } = await service.run([page, page, page], {
    cursors,
    async handle() {
      kept.push(await cursors.load());
      if (++tries < 3) throw new Error("the chat says no");
    },
  });
  expect(queries).toEqual(["?after=1", "?after=1", "?after=1", "?after=2"]);
  expect(kept).toEqual(["1", "1", "1"]);
  expect(pauses.slice(0, 3)).toEqual([2000, 2000, 2000]);
  expect(problems).toEqual(["a page was not handled and will be polled again: the chat says no"]);
});

/** Returns an unfinished page, whose progress the test changes with `set`. */
function unfinishedPage() {
  let progress: PageProgress = { is: "busy" };
  return {
    progress: () => progress,
    set: (next: PageProgress) => void (progress = next),
    onReread: jest.fn<void, []>(),
  };
}
const CHAT_SAYS_NO = { is: "waiting", problem: new Error("the chat says no") } as const;
const textsOf = (pages: readonly EventPage[]) =>
  pages.map(({ events }) => events.map(({ sequence }) => sequence));

// time: controlled
// contract: kit-refused-create
test("while a page is unfinished, the poller polls the saved cursor every 2 seconds, reads later pages, and handles each event once", async () => {
  const handled: EventPage[] = [];
  const cursors = await cursorAt("0");
  const unfinished = unfinishedPage();
  const [full, rest] = [
    [create(1), create(2)],
    [create(3), create(4)],
  ];
  const { queries, pauses, problems, cursor } = await service.run(
    [
      pageOf({ events: full, next: "2", hasMore: true }),
      pageOf({ events: rest.slice(0, 1), next: "3" }),
      // The next round. The page at the saved cursor contains only known events.
      pageOf({ events: full, next: "2", hasMore: true }),
      pageOf({ events: rest.slice(1), next: "4" }),
      pageOf({ events: [...full, ...rest, create(5)], next: "5" }),
    ],
    {
      cursors,
      handle(page) {
        handled.push(page);
        if (handled.length === 1) return unfinished;
        unfinished.set(CHAT_SAYS_NO);
        if (page.events[0]?.id === create(5).id) unfinished.set({ is: "done" });
        return undefined;
      },
    },
  );
  expect(queries).toEqual(["?after=0", "?after=2", "?after=0", "?after=3", "?after=0", "?after=5"]);
  expect(pauses.slice(0, 5)).toEqual([0, 2000, 0, 2000, 2000]);
  expect(textsOf(handled)).toEqual(
    [full, [create(3)], [], [create(4)], [create(5)]].map((page) => page.map(({ sequence }) => sequence)),
  );
  expect(problems).toEqual(["a page was not handled and will be polled again: the chat says no"]);
  expect(cursor).toBe("5");
});

// time: controlled
test("the poller stops reading ahead at its limit, and continues when the oldest page is done", async () => {
  const unfinished = unfinishedPage();
  let polls = 0;
  const first = pageOf({ events: [create(1)], next: "1", hasMore: true });
  const { queries, problems } = await service.run(
    [first, pageOf({ events: [create(2)], next: "2", hasMore: true }), first, first, pageOf({ next: "2" })],
    {
      handle(page) {
        if (page.events[0]?.id === create(1).id) return unfinished;
        if (page.events.length === 0) polls++;
        if (polls === 2) unfinished.set({ is: "done" });
        return undefined;
      },
      aheadLimits: { events: 2, eventsAgain: 2, characters: 1_000_000, page: 100 },
    },
  );
  expect(queries).toEqual(["", "?after=1", "", "", "?after=2", "?after=2"]);
  expect(problems).toEqual([expect.stringMatching("^2 events were read after an event")]);
});

// time: controlled
test("if a page must be read again, the next round passes all events after the saved cursor to the handler again", async () => {
  const handled: EventPage[] = [];
  const unfinished = unfinishedPage();
  unfinished.set({ ...CHAT_SAYS_NO, is: "again" });
  const pages = [
    pageOf({ events: [create(1)], next: "1", hasMore: true }),
    pageOf({ events: [create(2)], next: "2" }),
  ];
  const { queries, cursor } = await service.run([...pages, ...pages], {
    handle(page) {
      handled.push(page);
      return handled.length === 1 ? unfinished : undefined;
    },
  });
  expect(queries).toEqual(["", "?after=1", "", "?after=1", "?after=2"]);
  expect(textsOf(handled)).toEqual([1, 2, 1, 2].map((number) => [create(number).sequence]));
  expect([unfinished.onReread.mock.calls.length, cursor]).toEqual([1, "2"]);
});

test("while the cursor stays before a gap, the handler is notified of the gap once", async () => {
  const gaps: boolean[] = [];
  const unfinished = unfinishedPage();
  const page = pageOf({ events: [create(1)], next: "9", hasMore: true, gap: true });
  const rest = pageOf({ next: "9" });
  await service.run([page, rest, page, rest], {
    cursors: await cursorAt("1"),
    handle({ gap }) {
      gaps.push(gap);
      return gaps.length === 1 ? unfinished : undefined;
    },
  });
  expect(gaps).toEqual([true, false, false, false]);
});

// time: ordering
test("the cursor is saved once the chat has answered all calls, before the next poll, and a stopping poller waits for the answers", async () => {
  const cursors = cursorInMemory();
  const abort = new AbortController();
  let isHandled = false;
  const unfinished = { ...unfinishedPage(), idle: () => answered };
  const { open, opened: answered } = gate();
  service.behave(pageOf({ events: [create(1)], next: "1" }));
  const saves: string[] = [];
  const save = async (cursor: string) => void saves.push(cursor);
  const running = runPoller({
    ...service.options(),
    cursors: { load: () => cursors.load(), save },
    signal: abort.signal,
    handle() {
      isHandled = true;
      return unfinished;
    },
  });
  try {
    await until("the page is handled", () => isHandled);
    unfinished.set({ is: "done" });
    open();
    await until("the cursor is saved", () => saves.length > 0);
    expect([saves, service.requests.length]).toEqual([["1"], 1]);
  } finally {
    abort.abort();
    await running;
  }
});

// time: controlled
test("if the same page is polled repeatedly, its problems are reported again only after a page is handled or a poll fails", async () => {
  const page = pageOf({ events: [create(1), { id: "evt_2" }], next: "2" });
  let tries = 0;
  const { problems } = await service.run([page, page, page, page, page, status(503), page, page], {
    async handle() {
      if (++tries !== 3) throw new Error("the chat says no");
    },
  });
  const refused = "a page was not handled and will be polled again: the chat says no";
  const skipped = expect.stringMatching("^an event was skipped: ") as string;
  // The third page is handled. The fourth page is a different page with the same events.
  expect(problems).toEqual([skipped, refused, skipped, refused, "the service answered with 503", refused]);
});

// time: controlled
test("the waits grow with each failure of the service, and become short again after a page, even if the chat refuses the page", async () => {
  const page = pageOf({ events: [create(1)], next: "2" });
  const { pauses } = await service.run([status(503), status(503), page, page, status(503), page], {
    handle: () => Promise.reject(new Error("the chat says no")),
  });
  expect(pauses.slice(0, 6)).toEqual([2000, 4000, 2000, 2000, 2000, 2000]);
});

test("a stopped poller aborts its handler, waits for it, and saves the cursor of the finished page", async () => {
  const abort = new AbortController();
  const cursors = cursorInMemory();
  let wasTold = false;
  service.behave(pageOf({ next: "4", hasMore: true }));
  await runPoller({
    ...service.options(),
    cursors,
    signal: abort.signal,
    async handle(_page, signal) {
      const told = new Promise((resolve) => signal.addEventListener("abort", resolve));
      abort.abort();
      await told;
      wasTold = signal.aborted;
    },
  });
  expect([wasTold, await cursors.load(), service.requests.length]).toEqual([true, "4", 1]);
});

test("if the cursor cannot be saved, the poller reports the error, continues, and saves the cursor after the next poll", async () => {
  const saves: string[] = [];
  const cursors: CursorStore = {
    load: async () => undefined,
    async save(cursor) {
      saves.push(cursor);
      if (saves.length <= 2) throw new Error("the disk is full");
    },
  };
  const { queries, problems } = await service.run(Array(4).fill(pageOf({ next: "1" })), { cursors });
  expect(queries).toEqual(["", "?after=1", "?after=1", "?after=1", "?after=1"]);
  expect(saves).toEqual(["1", "1", "1"]);
  expect(problems).toEqual(["cannot save the cursor: the disk is full"]);
});

test.each([
  ["an interval under 2 seconds", { intervalMs: 1_999 }],
  ["an interval that is not a number", { intervalMs: NaN }],
  ["a limit of 0", { limit: 0 }],
  ["a limit of 101", { limit: 101 }],
  ["no secret", { secrets: [] }],
])("%s is rejected before any request", async (_what, options) => {
  const { error, requests } = await service.run([], options);
  expect([(error as Error).name, requests.length]).toEqual(["RangeError", 0]);
});
