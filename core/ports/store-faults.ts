/**
 * The store is unreachable, did not answer in time, or cannot do the operation now.
 * The operation may or may not have taken effect, so core must not confirm it to a client.
 */
export class StoreUnavailable extends Error {
  override readonly name: string = "StoreUnavailable";
}

/**
 * The store is full, so it rejects operations that add data: Redis is at its `maxmemory`, or the log of inbound events
 * is at its bound. Reads, acks and deletions still succeed; acks and deletions free memory. The message says what is
 * full, and what to do.
 */
export class StoreFull extends StoreUnavailable {
  override readonly name = "StoreFull";
}
