/**
 * The store is unreachable, did not answer in time, or cannot do the operation now.
 * The operation may or may not have been done, so it must not be confirmed to a client.
 */
export class StoreUnavailable extends Error {
  override readonly name: string = "StoreUnavailable";
}

/**
 * The store is full, so it rejects what adds data: Redis is at its `maxmemory`, or the log of inbound events is at its
 * bound. Reads, acks and deletions succeed, and free memory. The message says what is full, and what to do.
 */
export class StoreFull extends StoreUnavailable {
  override readonly name = "StoreFull";
}
