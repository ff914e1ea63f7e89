import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import type { OutboundEvent } from "../../events";
import { pushFile } from "../../push-store";
import { testFolder } from "../../../test/harness/folder";
import { many } from "../../../test/harness/for-all";
import { create, ONE_OF_EACH } from "../../../test/harness/sample-events";

const folder = testFolder();
let path: string;
let files = 0;
beforeEach(() => {
  path = join(folder, `pushes-${++files}`);
});

const idsOf = (events: readonly OutboundEvent[]) => events.map(({ id }) => id);

test("a store loads the events that were added and not removed, in the order in which they were added", async () => {
  const store = pushFile(path);
  expect(await store.load()).toEqual([]);
  const events = Object.values(ONE_OF_EACH);
  await Promise.all(events.map(store.add));
  await store.remove(create(1).id);
  await store.remove("evt_unknown");
  expect(await pushFile(path).load()).toEqual(events.slice(1));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("an event is in the file when `add` resolves", async () => {
  const store = pushFile(path);
  await store.load();
  for (const number of [1, 2, 3]) {
    await store.add(create(number));
    expect(readFileSync(path, "utf8")).toContain(`"${create(number).id}"`);
  }
});

test("after a crash at any byte of the file, the store loads exactly the events whose line is complete and that were not removed", async () => {
  const step = fc.record({ number: fc.integer({ min: 1, max: 5 }), isRemoval: fc.boolean() });
  const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.nat(5_000), async (steps, cut) => {
    const store = pushFile(path);
    rmSync(path, { force: true });
    await store.load();
    const ends: number[] = [];
    for (const { number, isRemoval } of steps) {
      await (isRemoval ? store.remove(create(number).id) : store.add(create(number)));
      ends.push(statSync(path).size);
    }
    const bytes = readFileSync(path);
    const length = Math.min(cut, bytes.length);
    writeFileSync(path, bytes.subarray(0, length));
    const expected = new Map<string, OutboundEvent>();
    for (const [i, { number, isRemoval }] of steps.entries()) {
      // `+ 1` stands for the line break: a line counts as complete even without its line break.
      if ((ends[i] ?? Infinity) > length + 1) break;
      if (isRemoval) expected.delete(create(number).id);
      else expected.set(create(number).id, create(number));
    }
    const restarted = pushFile(path);
    expect((await restarted.load()).toSorted(byId)).toEqual([...expected.values()].toSorted(byId));
    await restarted.add(create(9));
    expect(idsOf(await pushFile(path).load())).toContain(create(9).id);
  });
  await fc.assert(property, { numRuns: many(50) });
});

const byId = (a: OutboundEvent, b: OutboundEvent): number => (a.id < b.id ? -1 : 1);

test("lines that are not events are skipped", async () => {
  writeFileSync(path, 'null\n7\n{"event":{"id":"evt_1"}}\n{"event":null}\n{"removed":7}\n');
  expect(await pushFile(path).load()).toEqual([]);
});

test("the file stays within its bound while events are added and removed, and keeps the other events", async () => {
  const store = pushFile(path, 10_000);
  await store.load();
  await store.add(create(1));
  let longest = 0;
  for (let number = 2; number <= 200; number++) {
    await Promise.all([store.add(create(number)), store.remove(create(number - 1).id)]);
    if (number % 50 === 0) await store.add(create(1000 + number));
    longest = Math.max(longest, statSync(path).size);
  }
  expect(longest).toBeLessThan(15_000);
  const kept = [1050, 1100, 1150, 200, 1200];
  expect(idsOf(await pushFile(path).load())).toEqual(kept.map((number) => create(number).id));
});

test("an `add` that fails rejects, and a later `add` succeeds", async () => {
  const store = pushFile(path);
  await store.load();
  rmSync(path);
  mkdirSync(path);
  await expect(store.add(create(1))).rejects.toThrow("EISDIR");
  rmSync(path, { recursive: true });
  await store.add(create(2));
  expect(await pushFile(path).load()).toEqual([create(2)]);
});
