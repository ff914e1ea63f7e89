import { eachEvent } from "../../each-event";
import { REAL_TIMING } from "../../back-off";
import type { EventPage, OutboundEvent } from "../../events";
import { create, ONE_OF_EACH } from "../../../test/harness/sample-events";

const NEVER = new AbortController().signal;
const NOW_MS = Date.parse("2026-01-01T00:05:00.000Z");
const timing = { ...REAL_TIMING, now: () => NOW_MS };

const pageOf = (...events: readonly OutboundEvent[]): EventPage => {
  return { events, next: "1", hasMore: false, gap: false };
};

/** Creates a page handler for a chat that refuses the events whose ids are in `refused`, and shows all other events. */
function setUp() {
  const shown: string[] = [];
  const refused = new Set<string>();
  const problems: string[] = [];
  const handle = eachEvent(
    async ({ id }) => {
      if (refused.has(id)) throw new Error("the chat says no");
      shown.push(id);
    },
    { report: ({ message }) => problems.push(message), timing },
  );
  return { shown, refused, problems, handle };
}

// time: controlled
// contract: kit-expired
test("the events of a page are shown in order, except expired events", async () => {
  const { shown, handle } = setUp();
  const stale = create(1, { expiresAt: "2026-01-01T00:04:59.999Z" });
  const fresh = create(2, { expiresAt: "2026-01-01T00:05:00.000Z" });
  await handle(pageOf(stale, fresh, create(3), create(4)), NEVER);
  expect(shown).toEqual([fresh, create(3), create(4)].map(({ id }) => id));
});

// contract: kit-refused-create, kit-dedupe
test.each([
  ["message.create", [] as readonly string[]],
  ["dm.create", [create(8).id]],
] as const)(
  "after a refused %s, the later events of its channel or DM wait for the next poll, other events are shown, and no event is shown twice",
  async (type, others) => {
    const { shown, refused, handle } = setUp();
    const page = pageOf(create(7), ONE_OF_EACH[type], create(8));
    refused.add(ONE_OF_EACH[type].id);
    await expect(handle(page, NEVER)).rejects.toThrow("the chat says no");
    await expect(handle(page, NEVER)).rejects.toThrow("the chat says no");
    expect(shown).toEqual([create(7).id, ...others]);
    refused.clear();
    await handle(pageOf(...page.events, create(9)), NEVER);
    const first = [create(7).id, ...others, ONE_OF_EACH[type].id];
    expect(shown).toEqual([...new Set([...first, create(8).id, create(9).id])]);
  },
);

// contract: kit-refused-update
test.each(["message.update", "message.ephemeral", "ping"] as const)(
  "a refused %s is dropped and reported",
  async (type) => {
    const { shown, refused, problems, handle } = setUp();
    refused.add(ONE_OF_EACH[type].id);
    await handle(pageOf(ONE_OF_EACH[type], create(8)), NEVER);
    refused.clear();
    await handle(pageOf(ONE_OF_EACH[type], create(8)), NEVER);
    expect(shown).toEqual([create(8).id]);
    expect(problems).toEqual([expect.stringMatching(`^${type} evt_.* was refused.*: the chat says no$`)]);
  },
);

test("if the handler is aborted, the page is rejected and can be polled again, even if its only event is an update", async () => {
  const abort = new AbortController();
  const shown: string[] = [];
  const handle = eachEvent(async ({ id }, signal) => {
    abort.abort();
    signal.throwIfAborted();
    shown.push(id);
  });
  const page = pageOf(ONE_OF_EACH["message.update"]);
  await expect(handle(page, abort.signal)).rejects.toThrow("aborted");
  await expect(handle(page, abort.signal)).rejects.toThrow("aborted");
  expect(shown).toEqual([]);
});
