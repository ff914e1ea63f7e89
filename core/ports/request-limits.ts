/** Seconds until the next request of the sender would pass, at least 1; undefined when this request passes. */
export type RetryAfterSeconds = number | undefined;

/** The limit of sending addresses (check 2), as a separate step. */
export interface RequestLimits {
  /** Counts a request from a sending address, in canonical form. A request that does not pass is not counted. */
  admitAddress(address: string): Promise<RetryAfterSeconds>;
}
