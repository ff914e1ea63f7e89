import type { FollowOpen } from "../../proto/gen/chatbridge/v1/game";
import type { Consumer, Seen } from "../harness/consumer";
import { attemptsOf, typeIn, useFollowers } from "../harness/followers";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const followers = useFollowers();
const start = (open: Parameters<typeof FollowOpen.create>[0]): Consumer =>
  followers.start(service.clients, open);
let workspaces: readonly TestWorkspace[];
beforeAll(async () => {
  workspaces = await Promise.all(Array.from({ length: 8 }, () => service.workspaces.make()));
});

const workspace = (i = 0): TestWorkspace => workspaces[i] ?? { id: "", secret: "" };

/** Posts a typed message, and waits until a new group has received the event. */
async function laterOnesCame(): Promise<void> {
  const witness = await start({ group: followers.newGroup() }).opened();
  await typeIn(service.url, workspace(7), "later");
  await witness.sees(1);
}

// time: ordering
test("the events of a workspace arrive in order; in each group, each event goes to only one consumer", async () => {
  const groups = await Promise.all(
    [followers.newGroup(), followers.newGroup()].map((group) =>
      Promise.all(["a", "b"].map((consumer) => start({ group, consumer }).opened())),
    ),
  );
  for (const consumer of groups.flat()) consumer.ackAll();
  const sent = Array.from({ length: 20 }, (_, i) => String(i));
  await Promise.all(workspaces.map((each) => typeIn(service.url, each, ...sent)));
  const total = sent.length * workspaces.length;

  for (const group of groups) {
    const seen = (): readonly Seen[] =>
      group.flatMap((consumer) => consumer.seen).filter(({ text }) => text !== "later");
    await until("the group has all events", () => seen().length >= total);
    await laterOnesCame();
    expect(seen()).toHaveLength(total);
    for (const { id } of workspaces) {
      // The workspace's shard can move between the consumers, but each consumer receives the workspace's events in
      // order.
      const parts = group.map((consumer) =>
        consumer.seen
          .filter(({ workspaceId, text }) => workspaceId === id && text !== "later")
          .map(({ text }) => Number(text)),
      );
      for (const part of parts) expect(part).toEqual(part.toSorted((a, b) => a - b));
      expect(parts.flat().toSorted((a, b) => a - b)).toEqual(sent.map(Number));
    }
  }
});

// time: smoke
test("an event that is not acked is redelivered after the ack deadline, but not to a group that acked it", async () => {
  const acking = await start({ group: followers.newGroup() }).opened();
  const silent = await start({ group: followers.newGroup(), ackDeadline: { seconds: 1 } }).opened();
  acking.ackAll();
  await typeIn(service.url, workspace(), "one");
  const [first, again] = await silent.sees(2);
  expect(attemptsOf(silent.seen.slice(0, 2))).toEqual(["one/1", "one/2"]);
  expect(again?.id).toBe(first?.id);
  expect(attemptsOf(acking.seen)).toEqual(["one/1"]);
});
