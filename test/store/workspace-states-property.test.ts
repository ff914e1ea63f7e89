import * as fc from "fast-check";
import { FAILURES, LOGGED_SECONDS } from "../../contract/deliveries";
import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import type { Delivery } from "../../core/domain/delivery";
import { pollState, pushState, type PushFact } from "../../core/domain/health-state";
import { deliveryMode } from "../../core/domain/workspace";
import { many } from "../harness/for-all";
import { logTimes } from "../harness/log-time";
import { addWorkspace, publication, readPage, testClock, testStore } from "../harness/store";

const store = testStore();
const clock = testClock(store);
const times = logTimes(store, clock);
beforeAll(times.setAhead);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const URL = "https://bridge.example/events";

type Step =
  | { readonly do: "wait" | "step-back"; readonly ms: number }
  | { readonly do: "log"; readonly result: Delivery["result"] }
  | { readonly do: "poll" | "publish" | "look" }
  | { readonly do: "change"; readonly to: "poll" | "push" | "disconnected" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.oneof(
        fc.constantFrom(
          1,
          MINUTE_MS,
          MINUTE_MS + 1,
          5 * MINUTE_MS,
          HOUR_MS,
          DAY_MS,
          7 * DAY_MS,
          7 * DAY_MS + 1,
        ),
        fc.integer({ min: 1, max: 2 * HOUR_MS }),
        fc.integer({ min: 1, max: 3 * MINUTE_MS }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("step-back" as const), ms: fc.integer({ min: 1, max: HOUR_MS }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("log" as const),
      result: fc.constantFrom(
        "success",
        "success",
        "success",
        ...FAILURES,
        "overloaded",
        "expired",
        "outage",
      ),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("poll", "publish", "look") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("change" as const),
      to: fc.constantFrom("poll", "push", "disconnected"),
    }),
  },
);

/** A workspace, and everything that has happened to it. */
async function openHistory() {
  const { workspace } = await addWorkspace(store, { targetUrl: URL });
  const { id } = workspace;
  const facts: PushFact[] = [];

  async function change(fields: {
    readonly targetUrl?: string;
    readonly connected?: boolean;
  }): Promise<void> {
    const current = await store.workspaces.read(id);
    if (current === undefined) throw new Error("no such workspace");
    const changed = { ...current.workspace, ...fields };
    expect(await store.workspaces.replace(changed, current.version)).toBe(true);
  }

  return {
    id,
    async run(made: Step): Promise<void> {
      switch (made.do) {
        case "wait":
          return clock.pass(made.ms * 1_000);
        case "step-back":
          return clock.pass(-made.ms * 1_000);
        case "log": {
          await times.apply(id);
          const { result } = made;
          const delivery = { eventId: "evt_1", eventType: "message.create", attempt: 1, status: 200 };
          const more = { latencyMs: 1, address: undefined };
          const { atMs } = await store.deliveryLog.append(id, { ...delivery, ...more, result });
          if (result === "success") facts.unshift({ is: "accepted", atMs });
          else if (result === "overloaded") facts.unshift({ is: "overloaded", atMs });
          else if ((FAILURES as readonly string[]).includes(result)) facts.unshift({ is: "failed", atMs });
          return;
        }
        case "poll": {
          const record = await store.workspaces.read(id);
          if (record === undefined || deliveryMode(record.workspace) !== "poll") return;
          await readPage(store, { record, page: { start: { from: "oldest" }, limit: 1 } });
          return;
        }
        case "publish":
          await store.outboundEvents.publish(publication(id, facts.length));
          return;
        case "look":
          await store.pollWatch.findFailing(store.keys.shard(id));
          return;
        case "change":
          return change({ targetUrl: made.to === "push" ? URL : "", connected: made.to !== "disconnected" });
      }
    },
    /** Returns the state according to its definition: computed from all attempts and drops, or from the polls. */
    async definedState(): Promise<WorkspaceState> {
      const record = await store.workspaces.read(id);
      if (record === undefined) throw new Error("no such workspace");
      const nowMs = clock.us / 1_000;
      switch (deliveryMode(record.workspace)) {
        case "none":
          return "disconnected";
        case "poll":
          return pollState(await store.pollWatch.health(id), nowMs);
        case "push":
          return pushState(
            facts.filter(({ atMs }) => atMs >= nowMs - LOGGED_SECONDS * 1_000),
            nowMs,
          ).state;
      }
    },
  };
}

/** Returns the states whose lists contain the workspace. */
async function listedStates(id: string): Promise<readonly WorkspaceState[]> {
  const found: WorkspaceState[] = [];
  for (const state of WORKSPACE_STATES) {
    const page = await store.workspaceStates.list(1_000, undefined, new Set([state]));
    if (page?.ids.includes(id) === true) found.push(state);
  }
  return found;
}

// time: controlled
test("for any history, the stored state and the index match the definition of the states, applied to the whole history", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const history = await openHistory();
      let isSteppedBack = false;
      for (const made of steps) {
        await history.run(made);
        if (made.do === "step-back") isSteppedBack = true;
        const defined = await history.definedState();
        // After the clock has stepped back, the index may contain states that ended too early. Reading the states
        // corrects it.
        if (!isSteppedBack) expect(await listedStates(history.id)).toEqual([defined]);
        const [standing] = await store.workspaceStates.read([history.id]);
        expect(standing?.state).toBe(defined);
        expect(await listedStates(history.id)).toEqual([defined]);
      }
      const record = await store.workspaces.read(history.id);
      if (record !== undefined) await store.workspaces.delete(record.workspace);
      expect(await listedStates(history.id)).toEqual([]);
    }),
    { numRuns: many(40) },
  );
}, 300_000);
