import type { Assignment } from "../../proto/gen/chatbridge/v1/game";

/**
 * Collects the shards that a stream gains and loses, and writes those of one turn of the event loop as one message.
 * `flush` must be called before each delivery.
 */
export function createAssignments(write: (assignment: Assignment) => void) {
  const changes = new Map<number, "gained" | "lost">();
  let next: NodeJS.Immediate | undefined;

  function flush(): void {
    clearImmediate(next);
    next = undefined;
    if (changes.size === 0) return;
    const shards = (wanted: "gained" | "lost"): number[] =>
      [...changes].flatMap(([shard, change]) => (change === wanted ? shard : []));
    const assignment = { gained: shards("gained"), lost: shards("lost") };
    changes.clear();
    write(assignment);
  }

  return {
    flush,
    add(shard: number, change: "gained" | "lost"): void {
      // A message cannot say in which order a shard was gained and lost.
      if (changes.has(shard)) flush();
      changes.set(shard, change);
      next ??= setImmediate(flush);
    },
  };
}
