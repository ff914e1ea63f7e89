/** Undefined when a request is let through, else the seconds until the next one would be, at least 1. */
export type RetryAfterSeconds = number | undefined;

/** The limit that is checked before anything is known of a request (check 2). */
export interface RequestLimits {
  /** Counts a request of a sending address, in canonical form, if it is let through. */
  admitAddress(address: string): Promise<RetryAfterSeconds>;
}
