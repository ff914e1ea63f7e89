/**
 * The store is unreachable, did not answer in time, or cannot do the operation now.
 * The operation may or may not have been done, so it must not be confirmed to a client.
 * A retry is safe where the operation says so.
 */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
