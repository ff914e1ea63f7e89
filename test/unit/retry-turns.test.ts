import * as fc from "fast-check";
import { RETRIES_MAX, WAIT_MAX_MS, WorkspaceTurns } from "../../core/delivery/turns";
import { forAll } from "../harness/for-all";

type Action =
  | { readonly add: number; readonly owner: string }
  | { readonly end: number; readonly owner: string }
  | { readonly pass: number };

type Turns = ReturnType<typeof newTurns>;

/** All retries are for the same message, because even these retries must not wait for each other. */
const retry = (id: string) => ({ id, event: { messageId: "msg_1" } });
const newTurns = () => new WorkspaceTurns<ReturnType<typeof retry>>().retries;

const workspace = fc.constantFrom("a", "b");

// time: controlled
test("whenever retries become due and end, each retry starts in turn within the limit, or is dropped after 10 s", () => {
  const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 30 }), owner: workspace }) },
    { weight: 4, arbitrary: fc.record({ end: fc.integer({ min: 1, max: 20 }), owner: workspace }) },
    { weight: 1, arbitrary: fc.record({ pass: fc.nat(6_000) }) },
  );
  forAll(fc.array(action, { maxLength: 200 }), (actions) => {
    let now = 0;
    /** The retries of each workspace, in the order in which they were added, with their times. */
    const waiting: Record<string, { readonly id: string; readonly since: number }[]> = { a: [], b: [] };
    const inProgress: Record<string, number> = { a: 0, b: 0 };
    let count = 0;
    const leave = (id: string): number => {
      const [first] = waiting[id[0] ?? ""]?.splice(0, 1) ?? [];
      expect(first?.id).toBe(id);
      return now - (first?.since ?? 0);
    };
    const turns: Record<string, Turns> = { a: newTurns(), b: newTurns() };
    const look = (owner: string): void => {
      for (let step = turns[owner]?.next(now); step !== undefined; step = turns[owner]?.next(now)) {
        const waitedMs = leave(step.push.id);
        if (step.do === "drop") {
          expect(waitedMs).toBeGreaterThan(WAIT_MAX_MS);
          continue;
        }
        expect(waitedMs).toBeLessThanOrEqual(WAIT_MAX_MS);
        inProgress[owner] = (inProgress[owner] ?? 0) + 1;
        expect(inProgress[owner]).toBeLessThanOrEqual(RETRIES_MAX);
      }
    };
    const end = (owner: string): void => {
      inProgress[owner] = (inProgress[owner] ?? 0) - 1;
      turns[owner]?.end(retry(owner));
      look(owner);
    };
    for (const each of actions) {
      if ("add" in each) {
        for (let i = 0; i < each.add; i++) {
          const id = `${each.owner}${count++}`;
          waiting[each.owner]?.push({ id, since: now });
          turns[each.owner]?.add(retry(id), now);
          look(each.owner);
        }
      } else if ("end" in each) {
        for (let i = 0; i < each.end && (inProgress[each.owner] ?? 0) > 0; i++) end(each.owner);
      } else {
        now += each.pass;
        for (const owner of ["a", "b"]) look(owner);
      }
      for (const owner of ["a", "b"]) {
        const [first] = waiting[owner] ?? [];
        if (first === undefined) continue;
        // A retry waits only while its workspace is at its limit, and never longer than 10 s.
        expect(inProgress[owner]).toBe(RETRIES_MAX);
        expect(now - first.since).toBeLessThanOrEqual(WAIT_MAX_MS);
      }
    }
    for (const owner of ["a", "b"]) while ((inProgress[owner] ?? 0) > 0) end(owner);
    expect(waiting).toEqual({ a: [], b: [] });
  });
});

test("retries that were cleared do not start, and retries in progress can still end", () => {
  const turns = newTurns();
  for (let id = 0; id < RETRIES_MAX + 2; id++) turns.add(retry(String(id)), 0);
  for (let id = 0; id < RETRIES_MAX; id++) expect(turns.next(0)?.do).toBe("start");
  turns.takeAll();
  for (let id = 0; id < RETRIES_MAX; id++) turns.end(retry(String(id)));
  expect([turns.next(0), turns.isIdle]).toEqual([undefined, true]);
});
