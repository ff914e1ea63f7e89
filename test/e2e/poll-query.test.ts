import { poll, type Answer } from "../harness/bridge";
import { published } from "../harness/contents";
import { expectRefusal } from "../harness/refusals";
import { publish, textEvent } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";

// Of parameters in any combination: test/unit/read-poll-query.test.ts.
const service = sharedService();
const workspace = freshWorkspace(service);
/** The cursors of the 120 events that are held, oldest first. */
let cursors: readonly string[];
beforeAll(async () => {
  const events = Array.from({ length: 120 }, (_, i) => textEvent(workspace.id, `event ${i}`));
  const results = [
    ...(await publish(service.clients, ...events.slice(0, 100))),
    ...(await publish(service.clients, ...events.slice(100))),
  ];
  cursors = results.map((result) => String(published(result).sequence));
});

const ask = (query: string): Promise<Answer> => poll(service.url, workspace, query);

/** Fails unless a query is answered with `count` of the events from the one at `first` on. */
async function expectEvents(query: string, first: number, count: number): Promise<void> {
  const answer = await ask(query);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
  expect(answer.json).toMatchObject({
    events: Array.from({ length: count }, (_, i) => ({ message: { text: `event ${first + i}` } })),
    next: cursors[first + count - 1],
    hasMore: true,
    gap: false,
  });
}

// contract: poll-limit, poll-after-omitted
test.each([
  ["", 100],
  ["limit=100", 100],
  ["limit=%31%30", 10],
  ["%6Cimit=3", 3],
])("?%s answers %i events from the oldest held event on", (query, count) => expectEvents(query, 0, count));

// contract: poll-cursor
test("a cursor is the end of the page before; the parameters may be in any order and percent-encoded", async () => {
  const cursor = cursors[41] ?? "";
  const encoded = [...cursor].map((digit) => `%3${digit}`).join("");
  await expectEvents("after=0&limit=1", 0, 1);
  await expectEvents(`after=${cursor}&limit=2`, 42, 2);
  await expectEvents(`limit=2&after=${encoded}`, 42, 2);
});

// contract: poll-latest, poll-cursor
test("?after=latest answers no events and the newest cursor; a cursor past everything answers itself", async () => {
  const none = { events: [], hasMore: false, gap: false };
  for (const query of ["after=latest", "after=latest&limit=1", "after=%6Catest"]) {
    expect((await ask(query)).json).toEqual({ ...none, next: cursors[119] });
  }
  for (const next of ["9".repeat(16), "9".repeat(18), "009999999999999999"]) {
    expect((await ask(`after=${next}`)).json).toEqual({ ...none, next });
  }
});

// contract: poll-query-400, poll-limit, poll-cursor, error-body
test.each([
  ["limit=0", "limit"],
  ["limit=101", "limit"],
  ["limit=", "limit"],
  ["limit=0x10", "limit"],
  ["limit=1?", "limit"],
  ["limit=1&%6Cimit=1", "limit"],
  ["after", "after"],
  [`after=${"1".repeat(19)}`, "after"],
  ["after=LATEST", "after"],
  ["after=%zz", "after"],
  ["after=(1", "after"],
  ["cursor=1", "cursor"],
  ["limit%5B%5D=1", "limit[]"],
  ["limit=1;after=0", "limit"],
  ["a+b=1", "a b"],
  ["__proto__=1", "__proto__"],
  // The first fault is named: after, then limit, then unknown ones as sent.
  ["x=1&limit=0&after=0&after=0", "after"],
  ["x=1&limit=0", "limit"],
  ["y=1&x=1", "y"],
])("?%s is refused, and %s named", async (query, field) => {
  const answer = await ask(query);
  expectRefusal(answer, 400, field);
  expect(answer.headers["service-signature"]).toBeUndefined();
});
