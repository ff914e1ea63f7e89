import { poll } from "../harness/bridge";
import { published } from "../harness/contents";
import { publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { keyOf, openTestStore, redisNowUs, type TestStore } from "../harness/store";
import { holdSince } from "../harness/held-events";

const HOUR_US = 3_600_000_000;

const service = sharedService();
let store: TestStore;
let workspace: TestWorkspace;
beforeAll(async () => {
  store = await openTestStore(service.redis.url);
});
beforeEach(async () => {
  workspace = await service.workspaces.make();
});
afterAll(() => store.close());

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly gap: boolean;
}

async function page(query = "", of = workspace): Promise<Page> {
  const answer = await poll(service.url, of, query);
  const fields = ["events", "next", "hasMore", "gap"];
  expect([answer.status, Object.keys(answer.json as object)]).toEqual([200, fields]);
  return answer.json as Page;
}
const empty = (next: string | null | undefined, gap = false) => ({ events: [], next, hasMore: false, gap });

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

// contract: poll-oldest-first, poll-page-fields
test("following next from the first page to the last serves every event once, oldest first", async () => {
  const texts = Array.from({ length: 23 }, (_, i) => `event ${i}`);
  await publishTexts(...texts);
  const pages = [await page("limit=10")];
  for (let last = pages[0]; last?.hasMore; last = pages.at(-1)) {
    pages.push(await page(`limit=10&after=${last.next}`));
  }
  expect(pages.map(({ events }) => events.length)).toEqual([10, 10, 3]);
  expect(pages.flatMap(textsOf)).toEqual(texts);
  const sequences = pages.flatMap(({ events }) => events.map(({ sequence }) => sequence));
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

// contract: poll-has-more
test("hasMore is false on a page that holds exactly all that waits", async () => {
  await publishTexts("a", "b");
  expect(await page("limit=2")).toMatchObject({ hasMore: false });
  expect(await page("limit=1")).toMatchObject({ hasMore: true });
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

test("a poll takes nothing away: the same poll is answered with the same bytes", async () => {
  await publishTexts("a", "b", "c");
  for (const query of ["", "limit=2", "after=1&limit=1", "after=latest"]) {
    const first = await poll(service.url, workspace, query);
    const again = await poll(service.url, workspace, query);
    expect(first.status).toBe(200);
    expect(again.body.equals(first.body)).toBe(true);
  }
});

test("a workspace is served its own events only", async () => {
  const other = await service.workspaces.make();
  await publishTexts("of one");
  await publish(service.clients, textEvent(other.id, "of two"));
  expect([textsOf(await page()), textsOf(await page("", other))]).toEqual([["of one"], ["of two"]]);
});

// time: controlled
describe("events are held for 24 hours", () => {
  // contract: poll-held-24h, poll-gap
  test("an older event is not served, and is a gap after an earlier cursor", async () => {
    const [older = "", old = "", young = ""] = await heldSince(30, 25, 23);
    expect(await page()).toMatchObject({ next: young, hasMore: false, gap: false });
    expect(textsOf(await page())).toEqual(["23 h ago"]);
    for (const [after, gap] of [
      ["0", true],
      [String(Number(older) - 1), true],
      [older, true],
      [String(Number(old) - 1), true],
      [old, false],
      [`00${old}`, false],
      [String(Number(old) + 1), false],
    ] as const) {
      const served = await page(`after=${after}`);
      expect([textsOf(served), served.next, served.gap]).toEqual([["23 h ago"], young, gap]);
    }
    expect(await page(`after=${young}`)).toMatchObject({ events: [], next: young, gap: false });
  });

  test("the page after a gap has none", async () => {
    await heldSince(25, 2, 1);
    const first = await page("after=1&limit=1");
    expect([textsOf(first), first.hasMore, first.gap]).toEqual([["2 h ago"], true, true]);
    const second = await page(`after=${first.next}`);
    expect([textsOf(second), second.hasMore, second.gap]).toEqual([["1 h ago"], false, false]);
  });

  // contract: poll-gap, poll-next-null
  test("when all have expired, a page is empty, and only a cursor before them has a gap", async () => {
    const [, last = ""] = await heldSince(30, 25);
    expect(await page()).toEqual(empty(null));
    expect(await page("after=7")).toEqual(empty("7", true));
    expect(await page(`after=${last}`)).toEqual(empty(last));
    expect(await page("after=latest")).toEqual(empty(last));
    await publishTexts("new");
    const after = await page("after=7");
    expect([textsOf(after), after.gap]).toEqual([["new"], true]);
  });

  test("the same holds when Redis has freed the events unread", async () => {
    const [last = ""] = await heldSince(26);
    await store.redis.command("", ["DEL", keyOf(store, workspace.id, "index")]);
    expect(await page("after=7")).toEqual(empty("7", true));
    expect(await page(`after=${last}`)).toMatchObject({ next: last, gap: false });
    expect(await page("after=latest")).toMatchObject({ next: last, gap: false });
    expect(await page()).toMatchObject({ next: null, gap: false });
  });

  test("an event past its expiresAt is still served: the bridge drops it", async () => {
    const now = await redisNowUs(store);
    const expiresAt = new Date(now / 1_000 - 60_000).toISOString();
    const envelope = { sequence: now - HOUR_US, expiresAt, message: { text: "stale" } };
    await holdSince(store, workspace.id, [envelope]);
    expect((await page()).events).toEqual([envelope]);
  });
});
