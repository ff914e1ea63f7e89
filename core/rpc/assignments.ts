import type { Assignment } from "../../proto/gen/chatbridge/v1/game";

/**
 * Collects the shards that a stream gains and loses in one turn of the event loop, and writes them as one message.
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
      // One message cannot show whether a shard was first gained and then lost, or the reverse.
      if (changes.has(shard)) flush();
      changes.set(shard, change);
      next ??= setImmediate(flush);
    },
  };
}
