import { poll } from "../harness/bridge";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { keyOf, openTestStore, redisNowUs, type TestStore } from "../harness/store";
import { holdSince } from "../harness/held-events";

const HOUR_US = 3_600_000_000;

const service = sharedService();
let store: TestStore;
beforeAll(async () => {
  store = await openTestStore(service.redis.url);
});
afterAll(async () => {
  await store.close();
});

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly gap: boolean;
}

async function page(workspace: TestWorkspace, query = ""): Promise<Page> {
  const answer = await poll(service.url, workspace, query);
  expect([answer.status, Object.keys(answer.json as object)]).toEqual([
    200,
    ["events", "next", "hasMore", "gap"],
  ]);
  return answer.json as Page;
}

async function publishTexts(workspace: TestWorkspace, ...texts: string[]): Promise<readonly string[]> {
  const results = await publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));
  return results.map(({ outcome }) => {
    if (outcome?.$case !== "published") throw new Error("an event was refused");
    return String(outcome.value.sequence);
  });
}

const textsOf = ({ events }: Page): readonly string[] => events.map(({ message }) => message.text);

/** Writes held events as they would be, had they been published some hours ago; answers their cursors. */
async function heldSince(workspace: TestWorkspace, ...hours: number[]): Promise<readonly string[]> {
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
    const workspace = await createWorkspace(service.clients);
    expect(await page(workspace, query)).toEqual({ events: [], next, hasMore: false, gap: false });
  });
});

// contract: poll-oldest-first, poll-page-fields
test("following next from the first page to the last serves every event once, oldest first", async () => {
  const workspace = await createWorkspace(service.clients);
  const texts = Array.from({ length: 23 }, (_, i) => `event ${i}`);
  await publishTexts(workspace, ...texts);
  const pages = [await page(workspace, "limit=10")];
  for (let last = pages[0]; last?.hasMore; last = pages.at(-1)) {
    pages.push(await page(workspace, `limit=10&after=${last.next}`));
  }
  expect(pages.map(({ events }) => events.length)).toEqual([10, 10, 3]);
  expect(pages.flatMap(textsOf)).toEqual(texts);
  const sequences = pages.flatMap(({ events }) => events.map(({ sequence }) => sequence));
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

// contract: poll-has-more
test("hasMore is false on a page that holds exactly all that waits", async () => {
  const workspace = await createWorkspace(service.clients);
  await publishTexts(workspace, "a", "b");
  expect(await page(workspace, "limit=2")).toMatchObject({ hasMore: false });
  expect(await page(workspace, "limit=1")).toMatchObject({ hasMore: true });
});

// contract: poll-next
test("next equals the sent after, exactly as it was sent, when no event is newer", async () => {
  const workspace = await createWorkspace(service.clients);
  const [cursor = ""] = await publishTexts(workspace, "a");
  for (const after of [cursor, `0${cursor}`, `00${cursor}`, String(Number(cursor) + 1)]) {
    expect(await page(workspace, `after=${after}`)).toEqual({
      events: [],
      next: after,
      hasMore: false,
      gap: false,
    });
  }
  await publishTexts(workspace, "b");
  expect(textsOf(await page(workspace, `after=00${cursor}`))).toEqual(["b"]);
});

// contract: poll-latest
test("after=latest means start from now: what comes later is served, what was there is not", async () => {
  const workspace = await createWorkspace(service.clients);
  const [, cursor] = await publishTexts(workspace, "a", "b");
  const latest = await page(workspace, "after=latest");
  expect(latest).toEqual({ events: [], next: cursor, hasMore: false, gap: false });
  await publishTexts(workspace, "c");
  expect(textsOf(await page(workspace, `after=${latest.next}`))).toEqual(["c"]);
});

test("a poll takes nothing away: the same poll is answered with the same bytes", async () => {
  const workspace = await createWorkspace(service.clients);
  await publishTexts(workspace, "a", "b", "c");
  for (const query of ["", "limit=2", "after=1&limit=1", "after=latest"]) {
    const first = await poll(service.url, workspace, query);
    const again = await poll(service.url, workspace, query);
    expect(first.status).toBe(200);
    expect(again.body.equals(first.body)).toBe(true);
  }
});

test("workspaces are served their own events only", async () => {
  const one = await createWorkspace(service.clients);
  const two = await createWorkspace(service.clients);
  await publishTexts(one, "of one");
  await publishTexts(two, "of two");
  expect(textsOf(await page(one))).toEqual(["of one"]);
  expect(textsOf(await page(two))).toEqual(["of two"]);
});

test("a full page of the largest events is served whole", async () => {
  const workspace = await createWorkspace(service.clients);
  const texts = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(65_000, "x"));
  await publishTexts(workspace, ...texts.slice(0, 50));
  await publishTexts(workspace, ...texts.slice(50));
  expect(textsOf(await page(workspace))).toEqual(texts);
});

describe("events are held for 24 hours", () => {
  // contract: poll-held-24h, poll-gap
  test("one that is older is not served, and its absence after a cursor is a gap", async () => {
    const workspace = await createWorkspace(service.clients);
    const [older = "", old = "", young = ""] = await heldSince(workspace, 30, 25, 23);
    expect(await page(workspace)).toMatchObject({ next: young, hasMore: false, gap: false });
    expect(textsOf(await page(workspace))).toEqual(["23 h ago"]);
    for (const [after, gap] of [
      ["0", true],
      [String(Number(older) - 1), true],
      [older, true],
      [String(Number(old) - 1), true],
      [old, false],
      [`00${old}`, false],
      [String(Number(old) + 1), false],
    ] as const) {
      const served = await page(workspace, `after=${after}`);
      expect([textsOf(served), served.next, served.gap]).toEqual([["23 h ago"], young, gap]);
    }
    expect(await page(workspace, `after=${young}`)).toMatchObject({ events: [], next: young, gap: false });
  });

  test("carrying on from next after a gap, there is none", async () => {
    const workspace = await createWorkspace(service.clients);
    await heldSince(workspace, 25, 2, 1);
    const first = await page(workspace, "after=1&limit=1");
    expect([textsOf(first), first.hasMore, first.gap]).toEqual([["2 h ago"], true, true]);
    const second = await page(workspace, `after=${first.next}`);
    expect([textsOf(second), second.hasMore, second.gap]).toEqual([["1 h ago"], false, false]);
  });

  // contract: poll-gap, poll-next-null
  test("when all have expired, a page is empty, and only a cursor before them has a gap", async () => {
    const workspace = await createWorkspace(service.clients);
    const [, last = ""] = await heldSince(workspace, 30, 25);
    expect(await page(workspace)).toEqual({ events: [], next: null, hasMore: false, gap: false });
    expect(await page(workspace, "after=7")).toEqual({ events: [], next: "7", hasMore: false, gap: true });
    expect(await page(workspace, `after=${last}`)).toEqual({
      events: [],
      next: last,
      hasMore: false,
      gap: false,
    });
    expect(await page(workspace, "after=latest")).toEqual({
      events: [],
      next: last,
      hasMore: false,
      gap: false,
    });
    await publishTexts(workspace, "new");
    const after = await page(workspace, "after=7");
    expect([textsOf(after), after.gap]).toEqual([["new"], true]);
  });

  test("the same when the events were freed unread while nobody polled", async () => {
    const workspace = await createWorkspace(service.clients);
    const [last = ""] = await heldSince(workspace, 26);
    await store.redis.command("", ["DEL", keyOf(store, workspace.id, "index")]);
    expect(await page(workspace, "after=7")).toEqual({ events: [], next: "7", hasMore: false, gap: true });
    expect(await page(workspace, `after=${last}`)).toMatchObject({ next: last, gap: false });
    expect(await page(workspace, "after=latest")).toMatchObject({ next: last, gap: false });
    expect(await page(workspace)).toMatchObject({ next: null, gap: false });
  });

  test("one past its expiresAt is still served within them: dropping it is the bridge's to do", async () => {
    const workspace = await createWorkspace(service.clients);
    const now = await redisNowUs(store);
    const expiresAt = new Date(now / 1_000 - 60_000).toISOString();
    const envelope = { sequence: now - HOUR_US, expiresAt, message: { text: "stale" } };
    await holdSince(store, workspace.id, [envelope]);
    expect((await page(workspace)).events).toEqual([envelope]);
  });
});
