import { LEASE_MS } from "../ports/store";

/** A shard whose lease a stream holds. */
export interface HeldShard {
  /** Whether all earlier unacked entries were read again: those of another holder, and those of lost answers. */
  caughtUp: boolean;
  /** The last entry that was read again; undefined before the first. */
  readAgainAfter: string | undefined;
  /** Whether the shard may have entries to read. */
  stirred: boolean;
  /** False when another stream must get the shard. Its lease is kept until its events are acked or overdue. */
  mine: boolean;
  /** The `performance.now()` until which no other stream can hold the lease. */
  validUntil: number;
}

/** Makes the stream read all unacked entries again: some were lost in an answer, or were removed undelivered. */
export function readFromStart(state: HeldShard): void {
  Object.assign(state, { caughtUp: false, readAgainAfter: undefined, stirred: true });
}

/** The stream stops relying on a lease this long before it expires, as answers of the store take time. */
const SAFETY_MS = 500;

/**
 * Returns the state of a shard whose lease was requested at `askedAt` and granted. Keeps the known state
 * unless another stream may have held the lease meanwhile.
 */
export function heldSince(askedAt: number, mine: boolean, known: HeldShard | undefined): HeldShard {
  const isKept = known !== undefined && performance.now() < known.validUntil;
  const state = isKept ? known : { caughtUp: false, readAgainAfter: undefined };
  return Object.assign(state, { stirred: true, mine, validUntil: askedAt + LEASE_MS - SAFETY_MS });
}
