import { OperatorSender, type OperatorSenderContext } from "../../core/delivery/operator-sender";
import { OPERATOR_EVENT_SECONDS, OPERATOR_EVENTS_WORKSPACE_MAX } from "../../core/domain/operator-event";
import type { OperatorReceiver, OperatorSent } from "../../core/ports/outside";
import { StoreUnavailable } from "../../core/ports/store-faults";
import type { StoredOperatorEvent } from "../../core/ports/operator-outbox";
import { newWorkspace } from "../harness/new-workspace";
import { until } from "../harness/wait";

const NOW_MS = 1_800_000_000_000;

/**
 * Starts a sender that reads an outbox in memory, with two receivers of the installation. `sent` lists the receiver
 * and the event of each attempt.
 */
function startSender() {
  const outbox: StoredOperatorEvent[] = [];
  const sent: string[] = [];
  const reports: unknown[] = [];
  const results = new Map<string, OperatorSent["became"]>();
  const state = { hasOwn: false, isStoreAway: false, isUnreadable: false, isLeaseOver: false, failures: 0 };
  const failIfAway = (): void => {
    if (!state.isStoreAway) return;
    state.failures += 1;
    throw new StoreUnavailable("the store is unavailable");
  };
  const receiver = (key: string): OperatorReceiver => ({
    key,
    kind: "hook",
    inTurn: (task) => task(),
    testInTurn: (task) => task(),
    async send({ id, json }) {
      const { workspace } = JSON.parse(json) as { workspace: { name: string } };
      sent.push(`${key} ${id} ${workspace.name}`.trimEnd());
      return { became: results.get(key) ?? "accepted", detail: "" };
    },
  });
  const context: OperatorSenderContext = {
    now: () => NOW_MS,
    operatorOutbox: {
      async read(_shard, after = "0") {
        failIfAway();
        return outbox.filter(({ entryId }) => Number(entryId) > Number(after)).slice(0, 2);
      },
      async remove(_shard, event) {
        failIfAway();
        const at = outbox.findIndex(({ entryId }) => entryId === event.entryId);
        if (at >= 0) outbox.splice(at, 1);
      },
    },
    workspaces: {
      async read(id: string) {
        if (state.isUnreadable) throw new Error("no key");
        return id === "deleted" ? undefined : { version: 1, workspace: newWorkspace({ id, name: "w" }) };
      },
    } as OperatorSenderContext["workspaces"],
    operatorReceivers: {
      ofInstallation: [receiver("a"), receiver("b")],
      ofWorkspace: ({ id }) => (state.hasOwn ? receiver(id) : undefined),
    },
    onOperatorEventSent: () => undefined,
    report: (_where, error) => reports.push(error),
  };
  const signal = new AbortController().signal;
  const lease = { shard: 0, token: "t", state: "held", stopping: signal, over: signal } as const;
  const sender = new OperatorSender(context, { ...lease, isOver: () => state.isLeaseOver });
  return {
    outbox,
    sent,
    reports,
    results,
    state,
    look: () => sender.look(),
    add(entryId: string, fields: Partial<StoredOperatorEvent> = {}) {
      const workspaceId = "w";
      const facts = { type: "workspace.failing", mode: "push", reason: "timeout", sinceMs: NOW_MS } as const;
      const rest = { status: undefined, oldestWaitingAtMs: undefined, event: undefined, atMs: NOW_MS };
      outbox.push({ entryId, id: entryId, workspaceId, ...facts, ...rest, ...fields });
    },
    /** Makes the sender look at the outbox repeatedly, as the watch of a shard does, until the condition holds. */
    lookUntil: (what: string, condition: () => boolean) =>
      until(what, () => {
        sender.look();
        return condition();
      }),
  };
}

test("each receiver gets the events in order, and an event leaves the outbox after all receivers have accepted it", async () => {
  const { add, sent, outbox, lookUntil } = startSender();
  for (const id of ["1", "2", "3"]) add(id);
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  for (const key of ["a", "b"])
    expect(sent.filter((each) => each.startsWith(key))).toEqual([1, 2, 3].map((id) => `${key} ${id} w`));
});

// time: ordering
test("a receiver that fails gets the same event again before the next event, and the other receiver gets each event once", async () => {
  const { add, sent, outbox, results, lookUntil } = startSender();
  results.set("a", "failed");
  add("1");
  add("2");
  await lookUntil("a second attempt", () => sent.filter((each) => each === "a 1 w").length === 2);
  expect(sent).not.toContain("a 2 w");
  expect(sent.filter((each) => each.startsWith("b"))).toEqual(["b 1 w", "b 2 w"]);
  expect(outbox).toHaveLength(2);
  results.delete("a");
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  expect(sent.filter((each) => each.startsWith("b"))).toHaveLength(2);
});

test("an event that a receiver rejects permanently, or that is too old, is not repeated", async () => {
  const { add, sent, outbox, results, lookUntil } = startSender();
  results.set("a", "refused");
  add("1");
  add("2", { atMs: NOW_MS - OPERATOR_EVENT_SECONDS * 1_000 - 1 });
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  expect(sent.toSorted()).toEqual(["a 1 w", "b 1 w"]);
});

test("after an outage of the store, the sender reads the outbox again from its beginning", async () => {
  const { add, sent, outbox, state, reports, lookUntil } = startSender();
  add("5");
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  state.isStoreAway = true;
  await lookUntil("a read fails", () => state.failures > 0);
  state.isStoreAway = false;
  // After a failover, new entries can have lower ids.
  add("4");
  await lookUntil("the event is sent", () => sent.includes("b 4 w"));
  expect(reports).toEqual([]);
});

test("an event about a deleted workspace is removed, and an unreadable record does not prevent deliveries to the installation's addresses", async () => {
  const { add, sent, outbox, state, reports, lookUntil } = startSender();
  add("1", { workspaceId: "deleted" });
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  expect(sent).toEqual([]);
  state.isUnreadable = true;
  add("2");
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  expect(sent.toSorted()).toEqual(["a 2", "b 2"]);
  expect(reports.length).toBeGreaterThan(0);
});

test("a workspace whose own receiver fails has at most its share of events in memory, and its newest events are sent later", async () => {
  const { add, sent, outbox, results, state, lookUntil } = startSender();
  state.hasOwn = true;
  results.set("w", "failed");
  const count = OPERATOR_EVENTS_WORKSPACE_MAX + 5;
  for (let i = 1; i <= count; i++) add(String(i));
  await lookUntil("the other receivers have all events", () => sent.includes(`b ${count} w`));
  // Simulates that Redis drops the five events that exceed the workspace's share.
  outbox.splice(0, 5);
  results.delete("w");
  await lookUntil("the outbox is empty", () => outbox.length === 0);
  const own = sent.filter((each) => each.startsWith("w ")).map((each) => Number(each.split(" ")[1]));
  expect(new Set(own)).toEqual(
    new Set(Array.from({ length: OPERATOR_EVENTS_WORKSPACE_MAX }, (_, i) => i + 6)),
  );
});

test("a core without the lease sends no events", () => {
  const { add, sent, state, look } = startSender();
  add("1");
  state.isLeaseOver = true;
  look();
  expect(sent).toEqual([]);
});
