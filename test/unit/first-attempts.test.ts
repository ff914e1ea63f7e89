import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { IN_FLIGHT_MAX, WAIT_MAX_MS, WorkspaceTurns } from "../../core/delivery/turns";
import type { QueuedPush } from "../../core/ports/push-queue";
import { forAll } from "../harness/for-all";
import { queued } from "../harness/test-shard";

interface Waiting {
  readonly event: QueuedPush;
}
type Action = { readonly add: number } | { readonly end: number } | { readonly pass: number };

// time: controlled
test("however events are added and attempts end, each event gets one first attempt or is dropped, in order, within the limits", () => {
  const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.nat(6) }) },
    { weight: 3, arbitrary: fc.record({ end: fc.nat(IN_FLIGHT_MAX - 1) }) },
    { weight: 1, arbitrary: fc.record({ pass: fc.nat(6_000) }) },
  );
  forAll(fc.array(action, { maxLength: 700 }), (actions) => {
    const attempts = new WorkspaceTurns<Waiting>().first;
    const addedAt: number[] = [];
    const inProgress: Waiting[] = [];
    let left = 0;
    let now = 0;
    const look = (): void => {
      for (let step = attempts.next(now); step !== undefined; step = attempts.next(now)) {
        // First attempts are started, and events are dropped, in the order in which the events were added.
        expect(step.push.event.entryId).toBe(`${left}-0`);
        const isLate = now - (addedAt[left] ?? 0) > WAIT_MAX_MS;
        expect(step.do).toBe(isLate ? "drop" : "start");
        left += 1;
        if (isLate) continue;
        const { messageId } = step.push.event;
        if (messageId !== "") expect(inProgress.map(({ event }) => event.messageId)).not.toContain(messageId);
        inProgress.push(step.push);
        expect(inProgress.length).toBeLessThanOrEqual(IN_FLIGHT_MAX);
      }
    };
    for (const each of actions) {
      if ("add" in each) {
        const messageId = each.add === 0 ? "" : `m${each.add}`;
        attempts.add({ event: queued(addedAt.length, { messageId }) }, now);
        addedAt.push(now);
      } else if ("pass" in each) {
        now += each.pass;
      } else {
        const [ended] = inProgress.splice(each.end % Math.max(1, inProgress.length), 1);
        if (ended !== undefined) attempts.end(ended);
      }
      look();
      expect(attempts.isIdle).toBe(left === addedAt.length && inProgress.length === 0);
    }
    // When all attempts in progress have ended, every event has had its first attempt or has been dropped.
    while (inProgress.length > 0) {
      for (const each of inProgress.splice(0)) attempts.end(each);
      look();
    }
    expect([left, attempts.isIdle]).toEqual([addedAt.length, true]);
  });
});

test("an event that has had its turn is not kept in memory while other events wait", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const attempts = new WorkspaceTurns<Waiting>().first;
  function attemptFirst(): WeakRef<Waiting> {
    for (const number of [0, 1]) attempts.add({ event: queued(number, { messageId: "m" }) }, 0);
    const first = attempts.next(0)?.push ?? { event: queued(2, {}) };
    attempts.end(first);
    return new WeakRef(first);
  }
  const first = attemptFirst();
  // A `WeakRef` keeps its target until the current task has ended.
  await new Promise(setImmediate);
  collect();
  expect([first.deref(), attempts.waiting]).toEqual([undefined, 1]);
});
