import { LEASE_MS } from "../ports/leases";

/** A shard that a stream holds the lease of. */
export interface HeldShard {
  /** All that was read before and left unacked, by another holder or in an answer that was lost, was read again. */
  caughtUp: boolean;
  /** Where reading it again goes on; undefined at its beginning. */
  readAgainAfter: string | undefined;
  /** Something may be new. */
  stirred: boolean;
  /** False once the shard is to be another's: it is kept, unread, until its events are acked or overdue. */
  mine: boolean;
  /** Until when nobody else can have it, by performance.now(). */
  validUntil: number;
}

/** Has all that is unacked read again, once more: what was read of it may not have come, or was let go. */
export function readFromStart(state: HeldShard): void {
  Object.assign(state, { caughtUp: false, readAgainAfter: undefined, stirred: true });
}

/** A lease is not relied on for the last part of its life: answers of the store take time. */
const SAFETY_MS = 500;

/**
 * The shard now that its lease was asked for at a time and given: as it was known,
 * or new, where it may have been another's meanwhile.
 */
export function heldSince(askedAt: number, mine: boolean, known: HeldShard | undefined): HeldShard {
  const isKept = known !== undefined && performance.now() < known.validUntil;
  const state = isKept ? known : { caughtUp: false, readAgainAfter: undefined };
  return Object.assign(state, { stirred: true, mine, validUntil: askedAt + LEASE_MS - SAFETY_MS });
}
