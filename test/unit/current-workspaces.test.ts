import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createCurrentWorkspaces } from "../../core/delivery/current-workspaces";
import type { Workspace } from "../../core/domain/workspace";
import type { Workspaces } from "../../core/ports/workspaces";

/**
 * Returns a `CurrentWorkspaces` whose store creates a new record for each read and caches nothing, and the number of
 * reads.
 */
function createReadings() {
  let reads = 0;
  const workspaces = {
    read: async () => {
      reads += 1;
      return { workspace: {} as Workspace, version: 1 };
    },
    recall: () => undefined,
  } as unknown as Workspaces;
  const context = { now: Date.now, workspaces, report: () => undefined };
  const current = createCurrentWorkspaces(context, new AbortController().signal);
  return { current, reads: () => reads };
}

test("several reads of a workspace within a short time share one read of the store, until core reads the queue again", async () => {
  const { current, reads } = createReadings();
  const [first, second] = await Promise.all([current.read("a", 1_000), current.read("a", 1_000)]);
  expect([reads(), first === second]).toEqual([1, true]);
  await current.read("a", 0);
  expect(reads()).toBe(2);
  current.renew(new Map([["a", 2]]), performance.now());
  await current.read("a", 1_000);
  expect(reads()).toBe(3);
});

test("workspaces that were read after an outage do not stay in memory while other workspaces get events", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { current } = createReadings();
  const refs: WeakRef<object>[] = [];
  for (let i = 0; i < 500; i++) refs.push(new WeakRef((await current.read(`${i}`, 1_000)) as object));
  for (let i = 0; i < 10_000; i++) current.renew(new Map([["busy", i]]), performance.now());
  // A `WeakRef` keeps its target until the current task has ended.
  await new Promise(setImmediate);
  collect();
  expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([]);
});
