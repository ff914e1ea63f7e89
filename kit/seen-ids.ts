/**
 * Ids that were seen within a fixed period. When the maximum number of ids is reached, each new id replaces the oldest.
 */
export interface SeenIds {
  has(id: string, nowMs: number): boolean;
  /** Keeps the id for the full period from `nowMs`, even if the id was already kept. */
  add(id: string, nowMs: number): void;
}

/** Returns a store that keeps at most `most` ids, each for `forMs` ms. */
export function createSeenIds({ forMs, most }: { readonly forMs: number; readonly most: number }): SeenIds {
  // A Map keeps insertion order, so the oldest ids are first.
  const seenAt = new Map<string, number>();
  const isOver = (at: number | undefined, nowMs: number) => at === undefined || at + forMs <= nowMs;
  return {
    has: (id, nowMs) => !isOver(seenAt.get(id), nowMs),
    add(id, nowMs) {
      for (const [oldest, at] of seenAt) {
        if (!isOver(at, nowMs) && seenAt.size < most) break;
        seenAt.delete(oldest);
      }
      seenAt.delete(id);
      seenAt.set(id, nowMs);
    },
  };
}
