import { poll } from "../harness/bridge";
import { published } from "../harness/contents";
import { expectRefusal } from "../harness/refusals";
import { publish, textEvent } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { redisNowUs, testStore } from "../harness/store";
import { holdSince } from "../harness/held-events";

const HOUR_US = 3_600_000_000;

// More parameters are tested in test/unit/read-poll-query.test.ts, and more pages in test/store/pages.test.ts.
const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
const store = testStore({ redisUrl: service.redis.url });

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string | null;
  readonly hasMore: boolean;
}

async function page(query = "", of = workspace): Promise<Page> {
  const answer = await poll(service.url, of, query);
  const fields = ["events", "next", "hasMore", "gap"];
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  expect(Object.keys(answer.json as object)).toEqual(fields);
  return answer.json as Page;
}
const empty = (next: string | null | undefined) => ({ events: [], next, hasMore: false, gap: false });

/** Publishes an event for each text; returns the events' cursors. */
async function publishTexts(texts: readonly string[], of = workspace): Promise<readonly string[]> {
  const results = await publish(service.clients, ...texts.map((text) => textEvent(of.id, text)));
  return results.map((result) => String(published(result).sequence));
}

const textsOf = ({ events }: Page): readonly string[] => events.map(({ message }) => message.text);

/**
 * Stores a held event for each number in `hours`, as if the event had been published that many hours ago; returns the
 * cursors.
 */
async function heldSince(...hours: readonly number[]): Promise<readonly string[]> {
  const now = await redisNowUs(store);
  const events = hours.map((ago) => ({
    sequence: Math.floor(now - ago * HOUR_US),
    message: { text: `${ago} h ago` },
  }));
  await holdSince(store, workspace.id, events);
  return events.map(({ sequence }) => String(sequence));
}

// contract: poll-next-null, poll-latest
describe("when no event was ever held,", () => {
  test.each([
    ["", null],
    ["limit=1", null],
    ["after=latest", "0"],
    ["after=0", "0"],
    ["after=0000", "0000"],
    ["after=123456789012345678", "123456789012345678"],
  ])("the page for ?%s has `next` = %j", async (query, next) => {
    expect(await page(query)).toEqual(empty(next));
  });
});

describe("with 120 held events,", () => {
  const many = freshWorkspace(service);
  let cursors: readonly string[];
  beforeAll(async () => {
    const texts = Array.from({ length: 120 }, (_, i) => `event ${i}`);
    cursors = [
      ...(await publishTexts(texts.slice(0, 100), many)),
      ...(await publishTexts(texts.slice(100), many)),
    ];
  });

  /** Fails unless a poll with this query gets `count` events, starting with the event at index `first`. */
  async function expectEvents(query: string, first: number, count: number): Promise<void> {
    const { events, next, hasMore } = await page(query, many);
    const texts = Array.from({ length: count }, (_, i) => `event ${first + i}`);
    expect(events.map(({ message }) => message.text)).toEqual(texts);
    expect([next, hasMore]).toEqual([cursors[first + count - 1], first + count < 120]);
  }

  // contract: poll-limit, poll-after-omitted, poll-page-fields
  test.each([
    ["", 100],
    ["limit=100", 100],
    ["limit=%31%30", 10],
    ["%6Cimit=3", 3],
  ])("every poll with ?%s gets the %i oldest events", async (query, count) => {
    for (let polls = 0; polls < 2; polls++) await expectEvents(query, 0, count);
  });

  // contract: poll-cursor, poll-oldest-first, poll-has-more
  test("a page starts after the cursor; query parameters can be in any order, and can be percent-encoded", async () => {
    const cursor = cursors[41] ?? "";
    const encoded = [...cursor].map((digit) => `%3${digit}`).join("");
    await expectEvents("after=0&limit=1", 0, 1);
    await expectEvents(`after=${cursor}&limit=2`, 42, 2);
    await expectEvents(`limit=2&after=${encoded}`, 42, 2);
    await expectEvents(`after=${cursor}`, 42, 78);
  });
});

// contract: poll-query-400, poll-limit, poll-cursor, error-body
test.each([
  ["limit=0", "limit"],
  ["limit=101", "limit"],
  ["limit=1&%6Cimit=1", "limit"],
  [`after=${"1".repeat(19)}`, "after"],
  ["after=%zz", "after"],
  ["cursor=1", "cursor"],
  ["limit%5B%5D=1", "limit[]"],
  ["limit=1;after=0", "limit"],
  ["a+b=1", "a b"],
  ["__proto__=1", "__proto__"],
  // The answer names the first invalid parameter: `after`, then `limit`, then unknown parameters in the order sent.
  ["x=1&limit=0&after=0&after=0", "after"],
])("?%s is answered with 400 and the field %s", async (query, field) => {
  const answer = await poll(service.url, workspace, query);
  expectRefusal(answer, 400, field);
  expect(answer.headers["service-signature"]).toBeUndefined();
});

// contract: poll-next
test("when no event is newer than the cursor, `next` is the value of `after`, exactly as it was sent", async () => {
  const [cursor = ""] = await publishTexts(["a"]);
  for (const after of [cursor, `0${cursor}`, `00${cursor}`, String(Number(cursor) + 1)]) {
    expect(await page(`after=${after}`)).toEqual(empty(after));
  }
  await publishTexts(["b"]);
  expect(textsOf(await page(`after=00${cursor}`))).toEqual(["b"]);
});

// time: controlled
describe("events are held for 24 hours:", () => {
  // contract: poll-held-24h, poll-gap
  test("an event older than 24 hours is not served, and a poll with a cursor before that event gets a page with a gap", async () => {
    const [older = "", old = "", young = ""] = await heldSince(30, 25, 23);
    expect(await page()).toMatchObject({ next: young, hasMore: false, gap: false });
    expect(textsOf(await page())).toEqual(["23 h ago"]);
    for (const [after, gap] of [
      ["0", true],
      [older, true],
      [String(Number(old) - 1), true],
      [old, false],
      [`00${old}`, false],
    ] as const) {
      const served = { events: [{ message: { text: "23 h ago" } }], next: young, gap };
      expect(await page(`after=${after}`)).toMatchObject(served);
    }
    expect(await page(`after=${young}`)).toMatchObject({ events: [], next: young, gap: false });
  });

  test("an event past its `expiresAt` is still served, because bridges drop expired events", async () => {
    const now = await redisNowUs(store);
    const expiresAt = new Date(now / 1_000 - 60_000).toISOString();
    const envelope = { sequence: now - HOUR_US, expiresAt, message: { text: "stale" } };
    await holdSince(store, workspace.id, [envelope]);
    expect((await page()).events).toEqual([envelope]);
  });
});
