/** Remembers ids for a time, up to a number: past it the oldest are forgotten first. */
export interface SeenIds {
  /** Whether the id is remembered. */
  has(id: string, nowMs: number): boolean;
  /** Remembers the id from now on. */
  add(id: string, nowMs: number): void;
}

export function createSeenIds({ forMs, most }: { readonly forMs: number; readonly most: number }): SeenIds {
  // A Map keeps the order in which ids came, so what is to be forgotten stands first.
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
