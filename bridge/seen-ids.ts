/** Ids seen within a period. At a maximum number of ids, the oldest is forgotten first. */
export interface SeenIds {
  has(id: string, nowMs: number): boolean;
  /** Remembers the id for the full period, even if it was remembered already. */
  add(id: string, nowMs: number): void;
}

/** Remembers each id for `forMs`, and at most `most` ids. */
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
