import * as fc from "fast-check";
import {
  createWorkspaceLane,
  IN_FLIGHT_MAX,
  WAIT_MAX_MS,
  WAITING_MAX,
  type WorkspaceLane,
} from "../../core/delivery/workspace-lane";
import type { QueuedPush } from "../../core/ports/push-queue";

let entries = 0;
function push(messageId: string): QueuedPush {
  entries += 1;
  return {
    entryId: `${entries}-0`,
    workspaceId: "w",
    eventId: `evt_${entries}`,
    messageId,
    eventType: "message.create",
    expiresAtMs: null,
    isRetried: true,
    envelope: Buffer.from("{}"),
    attempts: 0,
    firstFailedAtMs: 0,
  };
}

/** All that the lane would do now. */
function drain(lane: WorkspaceLane, now: number) {
  const steps = [];
  for (let step = lane.next(now); step !== undefined; step = lane.next(now)) steps.push(step);
  return steps;
}

test("events of different messages start in order, 16 at a time", () => {
  const lane = createWorkspaceLane();
  const pushes = Array.from({ length: IN_FLIGHT_MAX + 3 }, (_, i) => push(`m${i}`));
  for (const each of pushes) lane.add(each, 0);
  expect(drain(lane, 0).map((step) => step.push)).toEqual(pushes.slice(0, IN_FLIGHT_MAX));
  expect(IN_FLIGHT_MAX).toBe(16);
  lane.end(pushes[5] ?? push(""));
  expect(drain(lane, 0)).toEqual([{ do: "start", push: pushes[IN_FLIGHT_MAX] }]);
});

test("an event waits while an earlier one of its message is under way, and so does what is behind it", () => {
  const lane = createWorkspaceLane();
  const [first, other, update, last] = [push("a"), push("b"), push("a"), push("c")];
  for (const each of [first, other, update, last]) lane.add(each, 0);
  expect(drain(lane, 0).map((step) => step.push)).toEqual([first, other]);
  lane.end(other);
  expect(drain(lane, 0)).toEqual([]);
  lane.end(first);
  expect(drain(lane, 0).map((step) => step.push)).toEqual([update, last]);
});

test("events that show no message do not wait for each other", () => {
  const lane = createWorkspaceLane();
  lane.add(push(""), 0);
  lane.add(push(""), 0);
  expect(drain(lane, 0)).toHaveLength(2);
});

test("an event that has waited for more than 10 s is dropped, whatever is under way", () => {
  const lane = createWorkspaceLane();
  const busy = Array.from({ length: IN_FLIGHT_MAX }, (_, i) => push(`m${i}`));
  for (const each of busy) lane.add(each, 0);
  drain(lane, 0);
  const [early, late] = [push("x"), push("y")];
  lane.add(early, 100);
  lane.add(late, 200);
  expect(drain(lane, 100 + WAIT_MAX_MS)).toEqual([]);
  expect(drain(lane, 101 + WAIT_MAX_MS)).toEqual([{ do: "drop", push: early }]);
  lane.end(busy[0] ?? push(""));
  expect(drain(lane, 101 + WAIT_MAX_MS)).toEqual([{ do: "start", push: late }]);
  expect(WAIT_MAX_MS).toBe(10_000);
});

test("no more than a bound may wait; what was started makes room", () => {
  const lane = createWorkspaceLane();
  for (let i = 0; i < WAITING_MAX; i++) expect(lane.add(push(`m${i}`), 0)).toBe(true);
  expect(lane.add(push("one too many"), 0)).toBe(false);
  expect(drain(lane, 0)).toHaveLength(IN_FLIGHT_MAX);
  for (let i = 0; i < IN_FLIGHT_MAX; i++) expect(lane.add(push(`n${i}`), 0)).toBe(true);
  expect(lane.add(push("one too many"), 0)).toBe(false);
});

type Action = { readonly add: number } | { readonly end: number } | { readonly pass: number };

test("in whatever order events come and end: each leaves once, in order, within the bounds of the lane", () => {
  const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.nat(6) }) },
    { weight: 3, arbitrary: fc.record({ end: fc.nat(IN_FLIGHT_MAX - 1) }) },
    { weight: 1, arbitrary: fc.record({ pass: fc.nat(6_000) }) },
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 700 }), (actions) => {
      const lane = createWorkspaceLane();
      const added = new Map<string, { readonly number: number; readonly at: number }>();
      const underWay: QueuedPush[] = [];
      let left = 0;
      let now = 0;
      const look = (): void => {
        for (const step of drain(lane, now)) {
          const known = added.get(step.push.entryId);
          // In the order in which they came, started or dropped.
          expect(known?.number).toBe(left);
          left += 1;
          const waited = now - (known?.at ?? 0);
          if (step.do === "drop") {
            expect(waited).toBeGreaterThan(WAIT_MAX_MS);
            continue;
          }
          expect(waited).toBeLessThanOrEqual(WAIT_MAX_MS);
          const { messageId } = step.push;
          if (messageId !== "") expect(underWay.map((each) => each.messageId)).not.toContain(messageId);
          underWay.push(step.push);
          expect(underWay.length).toBeLessThanOrEqual(IN_FLIGHT_MAX);
        }
      };
      for (const each of actions) {
        if ("add" in each) {
          const fresh = push(each.add === 0 ? "" : `m${each.add}`);
          added.set(fresh.entryId, { number: added.size, at: now });
          lane.add(fresh, now);
        } else if ("pass" in each) {
          now += each.pass;
        } else {
          const [ended] = underWay.splice(each.end % Math.max(1, underWay.length), 1);
          if (ended !== undefined) lane.end(ended);
        }
        look();
        expect(lane.isIdle).toBe(left === added.size && underWay.length === 0);
      }
      // When all that is under way ends, nothing stays behind.
      while (underWay.length > 0) {
        for (const each of underWay.splice(0)) lane.end(each);
        look();
      }
      expect([left, lane.isIdle]).toEqual([added.size, true]);
    }),
  );
});
