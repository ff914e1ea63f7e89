/** The entries of a queue that are being seen to: read again from its beginning, the queue brings none of them twice. */
export interface InHand {
  /** False for an entry that is in hand already. */
  take(entryId: string): boolean;
  /** The entry has left the queue. */
  finish(entryId: string): void;
  /** The queue is read from its beginning. */
  readAgain(): void;
  /** It was read to its end. */
  caughtUp(): void;
}

export function createInHand(): InHand {
  const taken = new Set<string>();
  /** Left the queue since it is read again: what is read may have been answered before. */
  const finished = new Set<string>();
  let isReadAgain = false;
  return {
    take(entryId) {
      if (taken.has(entryId)) return false;
      taken.add(entryId);
      return true;
    },
    finish(entryId) {
      if (isReadAgain) finished.add(entryId);
      else taken.delete(entryId);
    },
    readAgain: () => void (isReadAgain = true),
    caughtUp() {
      isReadAgain = false;
      for (const entryId of finished) taken.delete(entryId);
      finished.clear();
    },
  };
}
