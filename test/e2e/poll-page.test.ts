import { poll } from "../harness/bridge";
import { published } from "../harness/contents";
import { publish, textEvent } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { openTestStore, redisNowUs, type TestStore } from "../harness/store";
import { holdSince } from "../harness/held-events";

const HOUR_US = 3_600_000_000;

const service = sharedService();
const workspace = freshWorkspace(service, beforeEach);
let store: TestStore;
beforeAll(async () => {
  store = await openTestStore(service.redis.url);
});
afterAll(() => store.close());

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string | null;
  readonly hasMore: boolean;
}

async function page(query = "", of = workspace): Promise<Page> {
  const answer = await poll(service.url, of, query);
  const fields = ["events", "next", "hasMore", "gap"];
  expect([answer.status, Object.keys(answer.json as object)]).toEqual([200, fields]);
  return answer.json as Page;
}
const empty = (next: string | null | undefined) => ({ events: [], next, hasMore: false, gap: false });

/** Publishes texts, and answers their cursors. */
async function publishTexts(...texts: readonly string[]): Promise<readonly string[]> {
  const results = await publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));
  return results.map((result) => String(published(result).sequence));
}

const textsOf = ({ events }: Page): readonly string[] => events.map(({ message }) => message.text);

/** Writes held events as they would be, had they been published some hours ago; answers their cursors. */
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
describe("when no event was ever held", () => {
  test.each([
    ["", null],
    ["limit=1", null],
    ["after=latest", "0"],
    ["after=0", "0"],
    ["after=0000", "0000"],
    ["after=123456789012345678", "123456789012345678"],
  ])("?%s answers next %j", async (query, next) => {
    expect(await page(query)).toEqual(empty(next));
  });
});

// contract: poll-oldest-first, poll-page-fields, poll-has-more
test("following next serves every event once, oldest first, and a poll takes nothing away", async () => {
  const texts = Array.from({ length: 20 }, (_, i) => `event ${i}`);
  await publishTexts(...texts);
  const pages = [await page("limit=10")];
  for (let last = pages[0]; last?.hasMore; last = pages.at(-1)) {
    pages.push(await page(`limit=10&after=${last.next}`));
  }
  expect(pages.map(({ events }) => events.length)).toEqual([10, 10]);
  expect(pages.flatMap(textsOf)).toEqual(texts);
  expect(await page("limit=10")).toEqual(pages[0]);
  const sequences = pages.flatMap(({ events }) => events.map(({ sequence }) => sequence));
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

// contract: poll-next
test("next equals the sent after, exactly as it was sent, when no event is newer", async () => {
  const [cursor = ""] = await publishTexts("a");
  for (const after of [cursor, `0${cursor}`, `00${cursor}`, String(Number(cursor) + 1)]) {
    expect(await page(`after=${after}`)).toEqual(empty(after));
  }
  await publishTexts("b");
  expect(textsOf(await page(`after=00${cursor}`))).toEqual(["b"]);
});

// contract: poll-latest
test("after=latest means start from now: later events are served, earlier ones are not", async () => {
  const [, cursor] = await publishTexts("a", "b");
  const latest = await page("after=latest");
  expect(latest).toEqual(empty(cursor));
  await publishTexts("c");
  expect(textsOf(await page(`after=${latest.next}`))).toEqual(["c"]);
});

test("a workspace is served its own events only", async () => {
  const other = await service.workspaces.make();
  await publishTexts("of one");
  await publish(service.clients, textEvent(other.id, "of two"));
  expect([textsOf(await page()), textsOf(await page("", other))]).toEqual([["of one"], ["of two"]]);
});

// time: controlled
describe("events are held for 24 hours", () => {
  // contract: poll-gap, poll-next-null
  test("when all have expired, a page is empty, and only a cursor before them has a gap", async () => {
    const [, last = ""] = await heldSince(30, 25);
    expect(await page()).toEqual(empty(null));
    expect(await page("after=7")).toEqual({ ...empty("7"), gap: true });
    expect(await page(`after=${last}`)).toEqual(empty(last));
    expect(await page("after=latest")).toEqual(empty(last));
  });

  // contract: poll-held-24h, poll-gap
  test("an older event is not served, and is a gap after an earlier cursor", async () => {
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

  test("an event past its expiresAt is still served: the bridge drops it", async () => {
    const now = await redisNowUs(store);
    const expiresAt = new Date(now / 1_000 - 60_000).toISOString();
    const envelope = { sequence: now - HOUR_US, expiresAt, message: { text: "stale" } };
    await holdSince(store, workspace.id, [envelope]);
    expect((await page()).events).toEqual([envelope]);
  });
});
