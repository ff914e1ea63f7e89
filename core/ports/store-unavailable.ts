/**
 * The store is out of reach or did not answer in time. What was asked of it may
 * or may not have been done, so nothing may be confirmed; asking again is safe
 * where the operation says so.
 */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
