import { setMaxListeners } from "node:events";
import { createWorkspaceWatches, type WorkspaceChange } from "../../core/operations/watch-workspace";
import { StoreUnavailable } from "../../core/ports/store-faults";
import { newWorkspace } from "../harness/new-workspace";
import { until } from "../harness/wait";

type Context = Parameters<typeof createWorkspaceWatches>[0];

const ids = ["w1", "w2"];
let isStoreAway = false;
let opened: string[] = [];
let reads = 0;
const context = {
  now: Date.now,
  workspaces: {
    read: async () => ({ workspace: { ...newWorkspace(), targetUrl: "https://bridge.example/" } }),
  },
  refusedRequests: { read: async () => ({ buckets: [], refusals: [] }) },
  workspaceStates: { read: async () => [] },
  inboundLog: { firstAtMs: async () => undefined },
  deliveryLog: {
    async watch(id: string) {
      opened.push(id);
      return async () => {
        if (isStoreAway) throw new StoreUnavailable("no connection");
        return [];
      };
    },
    async read() {
      reads += 1;
      return [];
    },
  },
} as unknown as Context;
beforeEach(() => {
  isStoreAway = false;
  [opened, reads] = [[], 0];
});

/** Returns whether a watch has received the health and the requests. */
const hasHealth = (changes: readonly WorkspaceChange[]) =>
  ["health", "requests"].every((name) => changes.some((change) => name in change));

/** Starts `count` watches of each workspace. */
function watchAll(watch: ReturnType<typeof createWorkspaceWatches>, count: number, signal: AbortSignal) {
  setMaxListeners(0, signal);
  return ids.flatMap((id) =>
    Array.from({ length: count }, () => {
      const changes: WorkspaceChange[] = [];
      return { changes, ended: watch(id, (change) => changes.push(change), signal) };
    }),
  );
}

test("1,000 watches of two workspaces share one read of each workspace's log, and each watch gets the health of its workspace", async () => {
  const watch = createWorkspaceWatches(context);
  const over = new AbortController();
  const first = watchAll(watch, 250, over.signal);
  await until("the first watches have the health", () => first.every(({ changes }) => hasHealth(changes)));
  const later = watchAll(watch, 250, over.signal);
  await until("the later watches have the health", () => later.every(({ changes }) => hasHealth(changes)));
  expect([opened, reads]).toEqual([ids, 2]);
  over.abort();
  await Promise.all([...first, ...later].map(({ ended }) => ended));
});

test("a watch continues when another watch of the workspace ends, and a workspace without watches is read again by the next watch", async () => {
  const watch = createWorkspaceWatches(context);
  const [one, other] = [new AbortController(), new AbortController()];
  const ending = watchAll(watch, 1, one.signal);
  const staying = watchAll(watch, 1, other.signal);
  await until("all watches have the health", () =>
    [...ending, ...staying].every((each) => hasHealth(each.changes)),
  );
  one.abort();
  await Promise.all(ending.map(({ ended }) => ended));
  const before = staying.map(({ changes }) => changes.length);
  await until("the other watches get heartbeats", () =>
    staying.every(({ changes }, i) => changes.length > (before[i] ?? 0)),
  );
  expect(opened).toEqual(ids);
  other.abort();
  await Promise.all(staying.map(({ ended }) => ended));
  const again = new AbortController();
  const next = watchAll(watch, 1, again.signal);
  await until("the next watches have the health", () => next.every(({ changes }) => hasHealth(changes)));
  expect(opened).toEqual([...ids, ...ids]);
  again.abort();
  await Promise.all(next.map(({ ended }) => ended));
});

test("all watches of a workspace end when the store is unavailable, and a new watch then reads again", async () => {
  const watch = createWorkspaceWatches(context);
  const over = new AbortController();
  const watches = watchAll(watch, 3, over.signal);
  isStoreAway = true;
  const ends = await Promise.allSettled(watches.map(({ ended }) => ended));
  expect(ends.map((end) => end.status === "rejected" && end.reason instanceof StoreUnavailable)).toEqual(
    Array(6).fill(true),
  );
  isStoreAway = false;
  const next = watchAll(watch, 1, over.signal);
  await until("the next watches have the health", () => next.every(({ changes }) => hasHealth(changes)));
  over.abort();
  await Promise.all(next.map(({ ended }) => ended));
});
