import { cursorInMemory } from "../../bridge/cursor-store";
import { eachEvent } from "../../bridge/each-event";
import { runPoller } from "../../bridge/poller";
import { nowSeconds, signatureOf } from "../harness/bridge";
import { cursorAt, pageOf, SECRET, startPolledService, type PolledService } from "../harness/polled-service";
import { create } from "../harness/sample-events";
import { skipTime } from "../harness/skipped-time";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(() => service.close());

// contract: signature-query
test("a poll is a GET whose signature is that of the query string as it is sent", async () => {
  const { requests, queries } = await service.run([pageOf()], { limit: 5 });
  expect(queries).toEqual(["?limit=5", "?after=7&limit=5"]);
  for (const { method, path, headers, body } of requests) {
    const header = String(headers["service-signature"]);
    const t = /^t=(\d+),/.exec(header)?.[1] ?? "";
    expect(header).toBe(signatureOf(SECRET, path.split("?")[1] ?? "", t));
    expect(Math.abs(Number(t) - nowSeconds())).toBeLessThan(60);
    expect([method, body.length]).toEqual(["GET", 0]);
  }
});

// contract: signature-query
test("without a query the empty string is signed", async () => {
  const { requests, queries } = await service.run([]);
  expect(queries).toEqual([""]);
  const header = String(requests[0]?.headers["service-signature"]);
  expect(header).toBe(signatureOf(SECRET, "", /^t=(\d+),/.exec(header)?.[1]));
});

test.each([
  ["with the oldest event that is held", {}, ""],
  ["from now", { start: "latest" }, "?after=latest"],
] as const)("without a cursor a poller begins %s", async (_what, options, query) => {
  const { queries, cursor } = await service.run([pageOf({ next: "12" })], options);
  expect(queries).toEqual([query, "?after=12"]);
  expect(cursor).toBe("12");
});

test("a kept cursor is passed on exactly as it was received, wherever a poller is told to begin", async () => {
  const { queries } = await service.run([pageOf({ next: "000123" })], {
    cursors: await cursorAt("0007"),
    start: "latest",
  });
  expect(queries).toEqual(["?after=0007", "?after=000123"]);
});

test("a null next is no cursor: the next poll has none either", async () => {
  const { queries, cursor } = await service.run([pageOf({ next: null }), pageOf({ next: null })]);
  expect(queries).toEqual(["", "", ""]);
  expect(cursor).toBeUndefined();
});

// contract: kit-poll-again
test("while more events wait the next poll comes at once, otherwise 2 seconds later", async () => {
  const { pages, pauses, queries } = await service.run([
    pageOf({ events: [create(1)], next: "1", hasMore: true }),
    pageOf({ events: [create(2)], next: "2", hasMore: true }),
    pageOf({ events: [create(3)], next: "3" }),
    pageOf({ next: "3" }),
  ]);
  expect(pages.flatMap(({ events }) => events)).toEqual([create(1), create(2), create(3)]);
  expect(pauses.slice(0, 4)).toEqual([0, 0, 2000, 2000]);
  expect(queries).toEqual(["", "?after=1", "?after=2", "?after=3", "?after=3"]);
});

test("a cursor that stays where it is is never polled at once, whatever hasMore says", async () => {
  const { pauses } = await service.run([pageOf({ hasMore: true }), pageOf({ hasMore: true })]);
  expect(pauses.slice(0, 2)).toEqual([0, 2000]);
});

test("an interval of the bridge's own is kept, and chance only makes it longer", async () => {
  const timing = skipTime(0.999);
  await service.run([pageOf(), pageOf()], { intervalMs: 5_000, timing });
  const pauses = timing.pauses.slice(0, 2);
  for (const pause of pauses) {
    expect(pause).toBeGreaterThanOrEqual(5_000);
    expect(pause).toBeLessThanOrEqual(5_500);
  }
  expect(pauses).toHaveLength(2);
});

// contract: kit-gap
test("gap is told to the handler, and the poller carries on from next", async () => {
  const { pages, queries } = await service.run([pageOf({ gap: true, next: "9" })], {
    cursors: await cursorAt("1"),
  });
  expect(pages).toEqual([{ events: [], next: "9", hasMore: false, gap: true }]);
  expect(queries).toEqual(["?after=1", "?after=9"]);
});

// contract: kit-refused-create
test("the cursor moves on only when the handler has resolved; until then the same page is polled again", async () => {
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
  expect(pauses.slice(0, 3)).toEqual([2000, 4000, 2000]);
  expect(problems.slice(0, 2)).toEqual(Array(2).fill(expect.stringContaining("the chat says no")));
});

// contract: kit-dedupe
test("with eachEvent a page that comes again shows only what it has not shown", async () => {
  const shown: string[] = [];
  let refusals = 2;
  const events = [create(1), create(2), create(3)];
  const page = pageOf({ events, next: "3" });
  await service.run([page, page, page], {
    handle: eachEvent(({ id }) => {
      if (id === create(2).id && refusals-- > 0) throw new Error("the chat says no");
      shown.push(id);
    }),
  });
  expect(shown).toEqual(events.map(({ id }) => id));
});

test("a stopped poller tells its handler, waits for it, and keeps the cursor of what it finished", async () => {
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

test.each([
  ["an interval under 2 seconds", { intervalMs: 1_999 }],
  ["an interval that is no number", { intervalMs: NaN }],
  ["a limit of 0", { limit: 0 }],
  ["a limit of 101", { limit: 101 }],
  ["no secret", { secrets: [] }],
])("%s is refused before anything is sent", async (_what, options) => {
  const { error, requests } = await service.run([], options);
  expect(error).toMatchObject({ name: "RangeError" });
  expect(requests).toHaveLength(0);
});
