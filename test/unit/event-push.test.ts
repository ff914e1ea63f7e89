import type { CurrentWorkspace } from "../../core/delivery/current-workspaces";
import { EventPush, type PushShard } from "../../core/delivery/event-push";
import type { QueuedPush, Recorded } from "../../core/ports/push-queue";
import { OK, queued, REFUSED, WORKSPACE } from "../harness/test-shard";

const world = {
  workspace: WORKSPACE as CurrentWorkspace,
  outcome: OK,
  recorded: "recorded" as Recorded,
  stopping: new AbortController(),
  over: new AbortController(),
};
const shard = {
  context: {
    now: () => 0,
    pushClient: { push: async () => world.outcome },
    pushQueue: { record: async () => world.recorded },
    onDrop: () => undefined,
    report: () => undefined,
  },
  get lease() {
    return { stopping: world.stopping.signal, over: world.over.signal, isOver: () => false };
  },
  current: { read: async () => world.workspace },
} as unknown as PushShard;

beforeEach(() => {
  const [stopping, over] = [new AbortController(), new AbortController()];
  Object.assign(world, { workspace: WORKSPACE, outcome: OK, recorded: "recorded", stopping, over });
});

/** Makes one attempt. Returns the states that the push enters. */
async function attempt(push: EventPush): Promise<readonly string[]> {
  const trying = push.try();
  const states: string[] = [push.state];
  const outcome = await trying;
  if (outcome === "unreadable" || outcome === "stopped") return [...states, push.state];
  push.conclude(outcome);
  states.push(push.state);
  return [...states, (await push.recorded) ?? push.state];
}

const POLLS = { ...WORKSPACE, targetUrl: "" };

test.each<[what: string, states: string, change: Partial<typeof world>, event?: Partial<QueuedPush>]>([
  ["an event that is delivered is gone", "trying recording gone", {}],
  ["an event whose attempt failed rests", "trying resting resting", { outcome: REFUSED }],
  [
    "an event that failed and has no retry is gone",
    "trying recording gone",
    { outcome: REFUSED },
    { isRetried: false },
  ],
  ["an event of a deleted workspace is gone", "trying recording gone", { workspace: undefined }],
  ["an event that is held is gone", "trying recording gone", { workspace: POLLS }],
  [
    "an event waits again if its workspace is a push workspace again",
    "trying recording waiting",
    { workspace: POLLS, recorded: "pushed" },
  ],
  ["an event of an unreadable workspace waits again", "trying waiting", { workspace: "unreadable" }],
])("%s", async (_what, states, change, event = {}) => {
  Object.assign(world, change);
  const push = new EventPush(shard, queued(1, event));
  expect(push.state).toBe("waiting");
  expect((await attempt(push)).join(" ")).toBe(states);
});

test("an event is left in the queue if the work must stop before the attempt, or the lease is lost before the outcome is recorded", async () => {
  const [stopped, lost] = [queued(1), queued(2)].map((event) => new EventPush(shard, event));
  world.over.abort();
  expect(await attempt(lost as EventPush)).toEqual(["trying", "left", "left"]);
  world.stopping.abort();
  expect(await attempt(stopped as EventPush)).toEqual(["trying", "left"]);
});

test("an event that was already attempted is first resting, then waits for its retry, and leaves the queue after its last attempt", async () => {
  world.outcome = REFUSED;
  const push = new EventPush(shard, queued(1, { attempts: 1 }));
  expect([push.state, push.attempts]).toEqual(["resting", 1]);
  push.wait();
  expect(await attempt(push)).toEqual(["trying", "resting", "resting"]);
  push.wait();
  expect(await attempt(push)).toEqual(["trying", "recording", "gone"]);
});

test("a transition that the states do not allow is rejected, and the error names both states", async () => {
  const push = new EventPush(shard, queued(1));
  expect(() => push.wait()).toThrow("the push of an event cannot go from waiting to waiting");
  await attempt(push);
  await expect(push.try()).rejects.toThrow("from gone to trying");
  push.leave();
  expect(push.state).toBe("gone");
});
