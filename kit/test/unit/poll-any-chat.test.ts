import * as fc from "fast-check";
import { createCatchUp } from "../../catch-up";
import { cursorInMemory } from "../../cursor-store";
import { eachEvent } from "../../each-event";
import { isExpired, type OutboundEvent } from "../../events";
import type { PollerOptions } from "../../poller";
import { runWatchedPoller } from "../../poller";
import { initialState, lastingState, type BridgeState } from "../../reduce-state";
import { many } from "../../../test/harness/for-all";
import { fakeTimeouts } from "../harness/skipped-time";
import { START_MS } from "./reduce-events";
import { createChat, placeOf, serviceRun, shownInOrder, type ChatCall } from "./reduce-world";

/** The next poll of the fake service. */
let poll: (after: string | undefined) => object = () => ({});
jest.mock<object>("../../poll", () => ({
  ...jest.requireActual<object>("../../poll"),
  createPoll: () => async (after: string | undefined) => poll(after),
}));

beforeEach(() => fakeTimeouts(START_MS));
afterEach(() => jest.useRealTimers());

const STEP_MS = 500;
/** Maximum number of steps, which take longer than all refusals and waits of a scenario. */
const END_STEP = 2_000;
const LIMITS = { open: 6, place: 2 };
const AHEAD = { events: 12, eventsAgain: 8, characters: 1_000_000, page: 5 };

interface Scenario {
  readonly events: readonly OutboundEvent[];
  /** Number of events that are published before each poll. */
  readonly published: readonly number[];
  readonly pageSize: number;
  /** For each place: the time until which the chat refuses to post messages there, ms after `START_MS`. */
  readonly silentUntilMs: Readonly<Record<string, number>>;
  /** Duration of each call, ms. */
  readonly tookMs: readonly number[];
  /** Numbers of the polls that fail. */
  readonly failedPolls: readonly number[];
  /** Steps at which the process is killed. */
  readonly kills: readonly number[];
}

function scenarios(): fc.Arbitrary<Scenario> {
  const few = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 3 });
  const silence = fc.constantFrom(0, 7_000, 30_000, 90_000);
  return serviceRun(fc.constant(undefined), 60).chain((events) =>
    fc.record({
      events: fc.constant(events),
      published: fc.array(fc.nat({ max: 6 }), { maxLength: 30 }),
      pageSize: fc.integer({ min: 1, max: 5 }),
      silentUntilMs: fc.record({ c1: silence, c2: silence, "dm:u1": silence }),
      tookMs: fc.array(fc.constantFrom(0, 300, 1_900, 4_000), { maxLength: 60 }),
      failedPolls: few,
      kills: few,
    }),
  );
}

/** Returns a fake service, whose list of events grows with each poll. A cursor is the number of events before it. */
function fakeService({ events, published, pageSize, failedPolls }: Scenario) {
  let [held, polls] = [0, 0];
  return (after: string | undefined) => {
    held = Math.min(events.length, held + (published[polls] ?? 5));
    if (failedPolls.includes(++polls)) return { problem: "the service is down", notForMs: 0 };
    const from = Number(after ?? 0);
    const to = Math.min(held, from + pageSize);
    const next = to === 0 ? null : String(to);
    return { page: { events: events.slice(from, to), next, hasMore: to < held, gap: false }, leftOut: [] };
  };
}

/** Runs a poller with one of the kit's handlers until its cursor has passed all events. */
async function run(scenario: Scenario, kind: "catch-up" | "each-event") {
  const { events, silentUntilMs, tookMs, kills } = scenario;
  const chat = createChat();
  /** Creates that the cursor has passed although the chat did not show them. */
  const overtaken: string[] = [];
  let calls = 0;
  let saved = 0;
  let state: BridgeState = initialState(LIMITS);
  const cursors = cursorInMemory();
  poll = fakeService(scenario);

  function startProcess() {
    const abort = new AbortController();
    const isKilled = () => abort.signal.aborted;
    const call = async (each: ChatCall): Promise<string> => {
      const ms = tookMs[calls++] ?? 0;
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
      if (isKilled()) return new Promise(() => undefined);
      const isPost = each.type === "post" || each.type === "dm";
      const silent = silentUntilMs[placeOf(each.event)] ?? 0;
      if (isPost && Date.now() < START_MS + silent) throw new Error("the chat is silent");
      return chat.take(each);
    };
    const handle = kind === "each-event" ? showEach(chat, call) : catchUp(call);
    function catchUp(make: typeof call): PollerOptions["handle"] {
      return createCatchUp({
        chat: {
          post: (event) => make({ type: "post", event }),
          dm: (event) => make({ type: "dm", event }),
          edit: async (chatMessageId, event) => void (await make({ type: "edit", chatMessageId, event })),
          ephemeral: async (event) => void (await make({ type: "ephemeral", event })),
        },
        state,
        onState: (next) => {
          if (!isKilled()) state = lastingState(next);
        },
        report: () => undefined,
      }).takePage;
    }
    const store = {
      load: () => cursors.load(),
      async save(cursor: string) {
        if (isKilled()) return;
        const passed = Number(cursor);
        expect(passed).toBeGreaterThanOrEqual(saved);
        saved = passed;
        const shown = chat.shown();
        for (const event of events.slice(0, passed)) {
          if (event.type.endsWith(".create") && "message" in event && !shown.has(event.message.id))
            overtaken.push(event.id);
        }
        await cursors.save(cursor);
      },
    };
    void runWatchedPoller({
      baseUrl: "http://unused",
      workspaceId: "unused",
      secrets: "unused",
      cursors: store,
      handle,
      signal: abort.signal,
      onPage: () => undefined,
      report: () => undefined,
      aheadLimits: AHEAD,
      timing: {
        now: Date.now,
        random: () => 0,
        pause: (ms) => new Promise((resolve) => setTimeout(resolve, isKilled() ? 0 : ms)),
      },
    });
    return () => abort.abort();
  }

  let kill = startProcess();
  let step = 0;
  for (; saved < events.length && step < END_STEP; step++) {
    // `each-event` keeps the ids of shown events only in memory, so a restart would repeat them.
    if (kind === "catch-up" && kills.includes(step)) {
      kill();
      kill = startProcess();
    }
    await jest.advanceTimersByTimeAsync(STEP_MS);
  }
  kill();
  await jest.advanceTimersByTimeAsync(0);
  return { chat, overtaken, isOver: step < END_STEP };
}

/** The handler of a simple bridge. */
function showEach(chat: ReturnType<typeof createChat>, call: (each: ChatCall) => Promise<string>) {
  return eachEvent(
    async (event) => {
      if (event.type === "ping" || isExpired(event, Date.now())) return;
      if (event.type === "message.create") return void (await call({ type: "post", event }));
      if (event.type === "dm.create") return void (await call({ type: "dm", event }));
      if (event.type === "message.ephemeral") return void (await call({ type: "ephemeral", event }));
      const index = chat.posts.findIndex(({ messageId }) => messageId === event.message.id);
      if (index >= 0) await call({ type: "edit", event, chatMessageId: String(index) });
    },
    { report: () => undefined },
  );
}

// time: controlled
// contract: kit-refused-create, kit-dedupe
test.each(["catch-up", "each-event"] as const)(
  "with %s, whatever the chat refuses and whenever the bridge is killed, each event is shown once and in order, and the cursor passes no waiting create",
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(scenarios(), async (scenario) => {
        jest.setSystemTime(START_MS);
        const { chat, overtaken, isOver } = await run(scenario, kind);
        const { events } = scenario;
        expect(isOver).toBe(true);
        expect(overtaken).toEqual([]);
        expect(chat.shown()).toEqual(shownInOrder(events));
        expect(chat.posts).toHaveLength(chat.shown().size);
        for (const place of new Set(chat.posts.map((post) => post.place))) {
          const posts = chat.posts.filter((post) => post.place === place);
          const sequences = posts.map((post) => post.sequences[0] ?? 0);
          expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
        }
        const whispers = events.filter(({ type }) => type === "message.ephemeral");
        expect(chat.whispers.toSorted((a, b) => a - b)).toEqual(whispers.map(({ sequence }) => sequence));
      }),
      { numRuns: many(200) },
    );
  },
);
