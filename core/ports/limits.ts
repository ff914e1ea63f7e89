/** Seconds, at least 1, until a request from the same sender would pass; undefined if this request passes. */
export type RetryAfterSeconds = number | undefined;

/** The limits of the tests that callers send to addresses for operator events. */
export interface OperatorTestLimits {
  /**
   * If no limit has been reached, counts a test and returns undefined. Otherwise, returns what that limit applies to,
   * and the seconds until a test passes.
   *
   * @param workspaceId the workspace whose address is tested; undefined for the addresses of the installation
   * @param email the address of the workspace, if it is an email address
   */
  admit(
    workspaceId: string | undefined,
    email: string | undefined,
  ): Promise<{ readonly of: string; readonly afterSeconds: number } | undefined>;
}

/**
 * The limit per sending address (check 2 in docs/checks.md), for callers that perform this check as a separate step.
 */
export interface RequestLimits {
  /** Counts a request from a sending address, which must be in canonical form. A rejected request is not counted. */
  admitAddress(address: string): Promise<RetryAfterSeconds>;
}
