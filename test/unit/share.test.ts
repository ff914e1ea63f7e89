import { ownersInTurn, ownersOf } from "../../core/leases/owners";
import { createShare } from "../../core/leases/share";
import type { LiveMembers } from "../../core/ports/leases";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Returns the share of a member that joins its group by calling `join`. An update of a shard in `hung` takes 10 s. */
function createTestShare(shards: number, join: () => Promise<LiveMembers | undefined>) {
  const mine = new Map<number, boolean>();
  const faults: unknown[] = [];
  const hung = new Set<number>();
  const updated: number[] = [];
  const share = createShare({
    shards,
    name: "me",
    join,
    async update(shard, isMine) {
      updated.push(shard);
      if (hung.has(shard)) await new Promise((resolve) => setTimeout(resolve, 10_000));
      mine.set(shard, isMine);
    },
    onFault: (error) => faults.push(error),
  });
  return { share, mine, faults, hung, updated };
}

test.each([false, true])(
  "a member's share contains the shards that it owns by the rule that all members use; older members present: %s",
  async (hasOlder) => {
    const names = ["me", "other", "third"];
    const { share, mine } = createTestShare(40, async () => ({ names, hasOlder }));
    await share.beat();
    await share.idle();
    const owners = (hasOlder ? ownersInTurn : ownersOf)(40, names);
    expect([...mine.values()]).toEqual(owners.map((owner) => owner === "me"));
    expect([...mine.values()].filter(Boolean).length).toBeGreaterThanOrEqual(13);
  },
);

test("the share changes if the rule changes, even if the members stay the same", async () => {
  let hasOlder = true;
  const { share, mine } = createTestShare(40, async () => ({ names: ["me", "other"], hasOlder }));
  await share.beat();
  await share.idle();
  const before = [...mine.values()];
  hasOlder = false;
  await share.beat();
  await share.idle();
  expect([...mine.values()]).not.toEqual(before);
});

test("a member that cannot join has no shard", async () => {
  let alive: LiveMembers | undefined = { names: ["me"], hasOlder: false };
  const { share, mine } = createTestShare(3, async () => alive);
  await share.beat();
  await share.idle();
  expect([...mine.values()]).toEqual([true, true, true]);
  alive = undefined;
  await share.beat();
  await share.idle();
  expect([...mine.values()]).toEqual([false, false, false]);
});

test("while `join` fails, the last result of `join` is used", async () => {
  let isAway = false;
  const { share, mine, faults } = createTestShare(2, async () => {
    if (isAway) throw new Error("join failed");
    return { names: ["me", "other"], hasOlder: false };
  });
  await share.beat();
  isAway = true;
  mine.clear();
  await share.beat();
  await share.idle();
  expect([...mine.values()].filter(Boolean)).toHaveLength(1);
  expect(faults).toEqual([new Error("join failed")]);
});

// time: controlled
test("a `join` that hangs, or a hanging update of one shard, does not delay the updates of other shards", async () => {
  let hangs = false;
  const { share, hung, updated } = createTestShare(3, () =>
    hangs ? new Promise(() => undefined) : Promise.resolve({ names: ["me"], hasOlder: false }),
  );
  await share.beat();
  await share.idle();
  hangs = true;
  hung.add(1);
  updated.length = 0;
  for (let beat = 0; beat < 3; beat++) {
    void share.beat();
    await jest.advanceTimersByTimeAsync(750);
  }
  expect(updated.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1, 2, 2, 2]);
});
