import * as fc from "fast-check";
import { createRetryTurns, RETRIES_MAX, RETRY_WAIT_MAX_MS } from "../../core/delivery/retry-turns";
import { forAll } from "../harness/for-all";

type Action =
  | { readonly add: number; readonly owner: string }
  | { readonly end: number; readonly owner: string }
  | { readonly pass: number };

const workspace = fc.constantFrom("a", "b");

// time: controlled
test("however retries become due and end, each starts in turn within the limit, or is dropped after 10 s", () => {
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
    const turns = createRetryTurns<string>(
      {
        start(id) {
          expect(leave(id)).toBeLessThanOrEqual(RETRY_WAIT_MAX_MS);
          const owner = id[0] ?? "";
          inProgress[owner] = (inProgress[owner] ?? 0) + 1;
          expect(inProgress[owner]).toBeLessThanOrEqual(RETRIES_MAX);
        },
        drop: (id) => expect(leave(id)).toBeGreaterThan(RETRY_WAIT_MAX_MS),
      },
      () => now,
    );
    const end = (owner: string): void => {
      inProgress[owner] = (inProgress[owner] ?? 0) - 1;
      turns.end(owner);
    };
    for (const each of actions) {
      if ("add" in each) {
        for (let i = 0; i < each.add; i++) {
          const id = `${each.owner}${count++}`;
          waiting[each.owner]?.push({ id, since: now });
          turns.add(each.owner, id);
        }
      } else if ("end" in each) {
        for (let i = 0; i < each.end && (inProgress[each.owner] ?? 0) > 0; i++) end(each.owner);
      } else {
        now += each.pass;
        turns.dropLate();
      }
      for (const owner of ["a", "b"]) {
        const [first] = waiting[owner] ?? [];
        if (first === undefined) continue;
        // A retry waits only while its workspace has no room, and never too long.
        expect(inProgress[owner]).toBe(RETRIES_MAX);
        expect(now - first.since).toBeLessThanOrEqual(RETRY_WAIT_MAX_MS);
      }
    }
    for (const owner of ["a", "b"]) while ((inProgress[owner] ?? 0) > 0) end(owner);
    expect(waiting).toEqual({ a: [], b: [] });
  });
});

test("retries that were cleared do not start, and those in progress can still end", () => {
  const started: number[] = [];
  const turns = createRetryTurns<number>({ start: (id) => started.push(id), drop: () => undefined }, () => 0);
  for (let id = 0; id < RETRIES_MAX + 2; id++) turns.add("a", id);
  turns.clear();
  for (let i = 0; i < RETRIES_MAX; i++) turns.end("a");
  expect(started).toHaveLength(RETRIES_MAX);
});
