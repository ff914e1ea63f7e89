import { poll, type Answer } from "../harness/bridge";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

interface Page {
  readonly events: readonly { readonly sequence: number; readonly message: { readonly text: string } }[];
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly gap: boolean;
}

const service = sharedService();
let workspace: TestWorkspace;
/** The cursors of the 120 events that are held, oldest first. */
let cursors: readonly string[];
beforeAll(async () => {
  workspace = await createWorkspace(service.clients);
  for (const [from, to] of [
    [0, 100],
    [100, 120],
  ] as const) {
    const texts = Array.from({ length: to - from }, (_, i) => `event ${from + i}`);
    await publish(service.clients, ...texts.map((text) => textEvent(workspace.id, text)));
  }
  const first = pageOf(await ask(""));
  const rest = pageOf(await ask(`after=${first.next}`));
  cursors = [...first.events, ...rest.events].map(({ sequence }) => String(sequence));
});

let asked = 0;
/** Polls, from an address that no limit of this file's is near. */
function ask(query: string): Promise<Answer> {
  return poll(service.url, workspace, query, { from: `127.0.1.${1 + (asked++ % 200)}` });
}

function pageOf(answer: Answer): Page {
  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/json");
  return answer.json as Page;
}

function expectRefused(answer: Answer, field: string): void {
  expect([answer.status, answer.json]).toEqual([
    400,
    { statusCode: 400, error: "Bad Request", message: expect.any(String), field },
  ]);
  expect(answer.headers["service-signature"]).toBeUndefined();
}

// contract: poll-limit
describe("limit is an integer of 1 to 100, 100 when it is omitted", () => {
  test.each([
    ["", 100],
    ["limit=1", 1],
    ["limit=2", 2],
    ["limit=99", 99],
    ["limit=100", 100],
    ["limit=%31%30", 10],
    ["%6Cimit=3", 3],
  ])("?%s answers %i events", async (query, count) => {
    const page = pageOf(await ask(query));
    expect(page.events.map(({ message }) => message.text)).toEqual(
      Array.from({ length: count }, (_, i) => `event ${i}`),
    );
    expect(page.hasMore).toBe(true);
    expect(page.next).toBe(cursors[count - 1]);
  });

  test.each([
    "limit=0",
    "limit=101",
    "limit=-1",
    "limit=1.5",
    "limit=1.0",
    "limit=",
    "limit",
    "limit=+1",
    "limit=%201",
    "limit=1%20",
    "limit=1e1",
    "limit=0x10",
    "limit=NaN",
    "limit=ten",
    "limit=10,20",
    "limit=9999999999999999999999",
    "limit=%00",
    "limit=1?",
    "limit=1&limit=1",
    "limit=1&limit=2",
    "limit=1&%6Cimit=1",
    "limit=1&limit=",
  ])("?%s is refused", async (query) => {
    expectRefused(await ask(query), "limit");
  });
});

// contract: poll-cursor
describe("after is a cursor of 1 to 18 digits, or latest", () => {
  // contract: poll-after-omitted
  test("omitted, the page starts from the oldest held event", async () => {
    expect(pageOf(await ask("")).events[0]?.message.text).toBe("event 0");
  });

  test("a cursor is the end of the page before", async () => {
    const page = pageOf(await ask(`after=${cursors[41]}&limit=2`));
    expect(page.events.map(({ message }) => message.text)).toEqual(["event 42", "event 43"]);
    expect(page).toMatchObject({ next: cursors[43], hasMore: true, gap: false });
  });

  test("the parameters may stand in either order and be percent-encoded", async () => {
    const cursor = cursors[41] ?? "";
    const encoded = [...cursor].map((digit) => `%3${digit}`).join("");
    const page = pageOf(await ask(`limit=2&after=${encoded}`));
    expect(page.events.map(({ message }) => message.text)).toEqual(["event 42", "event 43"]);
  });

  // contract: poll-latest
  test.each(["after=latest", "after=latest&limit=1", "after=%6Catest"])(
    "?%s answers no events and the newest cursor",
    async (query) => {
      expect(pageOf(await ask(query))).toEqual({
        events: [],
        next: cursors[119],
        hasMore: false,
        gap: false,
      });
    },
  );

  test.each(["0", "1", "000000000000000000", "1".repeat(15)])(
    "%s, before everything, answers from the oldest event",
    async (cursor) => {
      expect(pageOf(await ask(`after=${cursor}&limit=1`)).events[0]?.message.text).toBe("event 0");
    },
  );

  test.each(["9".repeat(16), "9".repeat(18), "009999999999999999"])(
    "%s, past everything, is answered by itself",
    async (cursor) => {
      expect(pageOf(await ask(`after=${cursor}`))).toEqual({
        events: [],
        next: cursor,
        hasMore: false,
        gap: false,
      });
    },
  );

  test.each([
    "after=",
    "after",
    `after=${"1".repeat(19)}`,
    "after=-1",
    "after=+1",
    "after=%2B1",
    "after=1.0",
    "after=1e3",
    "after=LATEST",
    "after=latest%20",
    "after=oldest",
    "after=%zz",
    "after=1-0",
    "after=(1",
    "after=%D9%A1",
    "after=1%0A",
    "after=0&after=0",
    "after=latest&after=latest",
    "after=0&%61fter=0",
  ])("?%s is refused", async (query) => {
    expectRefused(await ask(query), "after");
  });
});

// contract: poll-query-400, error-body
describe("an unknown parameter is refused by its name", () => {
  test.each([
    ["cursor=1", "cursor"],
    ["Limit=1", "Limit"],
    ["AFTER=0", "AFTER"],
    ["limit=1&x=", "x"],
    ["x", "x"],
    ["limit%5B%5D=1", "limit[]"],
    ["limit=1;after=0", "limit"],
    ["a+b=1", "a b"],
    ["__proto__=1", "__proto__"],
  ])("?%s names %s", async (query, field) => {
    expectRefused(await ask(query), field);
  });
});

describe("the first fault is named: after, then limit, then unknown ones as sent", () => {
  test.each([
    ["limit=0&after=x", "after"],
    ["x=1&limit=0", "limit"],
    ["x=1&after=", "after"],
    ["y=1&x=1", "y"],
    ["x=1&limit=0&after=0&after=0", "after"],
    ["limit=5&limit=5&x=1", "limit"],
  ])("?%s names %s", async (query, field) => {
    expectRefused(await ask(query), field);
  });
});
