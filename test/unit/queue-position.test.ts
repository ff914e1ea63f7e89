import { SHARD_BYTES_MAX, ShardQueue } from "../../core/delivery/shard-queue";
import type { Lease } from "../../core/leases/lease";
import type { QueueRead } from "../../core/ports/push-queue";
import { queued } from "../harness/test-shard";

const never = new AbortController().signal;
const LEASE: Lease = {
  shard: 3,
  token: "t",
  state: "held",
  stopping: never,
  over: never,
  isOver: () => false,
};

function shardQueue() {
  let answer = (_read: QueueRead | undefined): void => {};
  const queue = new ShardQueue(
    {
      now: () => 0,
      pushQueue: {
        read: () => new Promise((resolve) => (answer = resolve)),
        record: async () => "recorded",
        onWake: () => () => {},
      },
    },
    LEASE,
  );
  return {
    queue,
    async read(...ids: readonly number[]) {
      const reading = queue.read();
      answer({ pushes: ids.map((id) => queued(id)), versions: new Map(), isEnd: true });
      await reading;
    },
  };
}

test("the queue has a position except during a read", async () => {
  const { queue, read } = shardQueue();
  expect(queue.position).toEqual({ token: "t", after: undefined });
  const reading = read(1, 2);
  expect(queue.position).toBeUndefined();
  await reading;
  expect(queue.position).toEqual({ token: "t", after: "2-0" });
});

test("the position of the queue can be moved only from its current value", async () => {
  const { queue, read } = shardQueue();
  const first = queue.position;
  await read(1);
  expect(first && queue.move(first, "2-0")).toBe(false);
  const { position } = queue;
  expect(position && queue.move(position, "2-0")).toBe(true);
  expect(queue.position?.after).toBe("2-0");
  expect(position && queue.move(position, "3-0")).toBe(false);
});

test("after a fault, the queue has no position until it has been read again to its end", async () => {
  const { queue, read } = shardQueue();
  await read(1);
  queue.failed();
  expect(queue.position).toBeUndefined();
  await read(1);
  expect(queue.position).toBeUndefined();
  queue.caughtUp(performance.now());
  expect(queue.position?.after).toBe("1-0");
});

test("the queue has no position while there is no room for events", () => {
  const { queue } = shardQueue();
  queue.inHand.take(queued(1, { bytes: SHARD_BYTES_MAX }));
  expect(queue.position).toBeUndefined();
});
