/** Undefined when a request is let through, else the seconds until the next one would be, at least 1. */
export type RetryAfterSeconds = number | undefined;

/** The limit of sending addresses (check 2), by itself. */
export interface RequestLimits {
  /** Counts a request of a sending address, in canonical form, if it is let through. */
  admitAddress(address: string): Promise<RetryAfterSeconds>;
}
