import type { LogEntry } from "../ports/follow-log";

/** The events of one stream that are delivered and not acked yet. */
export type InFlight = ReturnType<typeof createInFlight>;

interface Out {
  readonly shard: number;
  readonly entryId: string;
  readonly workspaceId: string;
  readonly deadline: number;
}

/** Redis reads each half of an entry id as an unsigned 64-bit number. Every number of 19 digits fits in 64 bits. */
const DELIVERY_ID_FORM = /^(\d{1,5}):(\d{1,19}-\d{1,19})$/;

/**
 * Returns an id that is unique across all shards. `game.proto` promises the maximum length of this id, and that the id
 * does not contain "/".
 */
export function deliveryId(shard: number, entryId: string): string {
  return `${shard}:${entryId}`;
}

export function parseDeliveryId(
  id: string,
  shards: number,
): { readonly shard: number; readonly entryId: string } | undefined {
  const form = DELIVERY_ID_FORM.exec(id);
  const shard = Number(form?.[1]);
  return form?.[2] !== undefined && shard < shards ? { shard, entryId: form[2] } : undefined;
}

export function createInFlight(ackDeadlineMs: number) {
  // The events in the order of delivery, which is also the order of the deadlines.
  const out = new Map<string, Out>();

  function firstOverdue(isLeftOut: (shard: number) => boolean): Out | undefined {
    for (const entry of out.values()) {
      if (entry.deadline > performance.now()) return undefined;
      if (!isLeftOut(entry.shard)) return entry;
    }
    return undefined;
  }

  return {
    get size(): number {
      return out.size;
    },
    /** The `performance.now()` time at which the next event becomes overdue; `Infinity` when there is none. */
    get nextDeadline(): number {
      const [first] = out.values();
      return first?.deadline ?? Infinity;
    },
    add(shard: number, { entryId, workspaceId }: LogEntry): void {
      const id = deliveryId(shard, entryId);
      out.delete(id);
      out.set(id, { shard, entryId, workspaceId, deadline: performance.now() + ackDeadlineMs });
    },
    remove(shard: number, entryIds: readonly string[]): void {
      for (const entryId of entryIds) out.delete(deliveryId(shard, entryId));
    },
    has(shard: number): boolean {
      for (const entry of out.values()) if (entry.shard === shard) return true;
      return false;
    },
    isOut: (shard: number, entryId: string): boolean => out.has(deliveryId(shard, entryId)),
    forget(shard: number): void {
      for (const [id, entry] of out) if (entry.shard === shard) out.delete(id);
    },
    /**
     * Returns the entry ids of an overdue event and of all later in-flight events of the same workspace, in order. These
     * events are redelivered together, so that a consumer always receives events in order. Shards for which `isLeftOut`
     * returns true are skipped.
     */
    overdue(isLeftOut: (shard: number) => boolean = () => false) {
      const first = firstOverdue(isLeftOut);
      if (first === undefined) return undefined;
      const entryIds = [...out.values()]
        .filter(({ shard, workspaceId }) => shard === first.shard && workspaceId === first.workspaceId)
        .map(({ entryId }) => entryId)
        .toSorted(compareEntryIds)
        .filter((entryId) => compareEntryIds(entryId, first.entryId) >= 0);
      return { shard: first.shard, entryIds };
    },
  };
}

/** Entry ids are "<ms>-<n>", and neither number has leading zeros. */
function compareEntryIds(a: string, b: string): number {
  const [aMs = "", aN = ""] = a.split("-");
  const [bMs = "", bN = ""] = b.split("-");
  return Number(aMs) - Number(bMs) || Number(aN) - Number(bN);
}
