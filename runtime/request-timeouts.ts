/**
 * How long an HTTP listener waits for a whole request, as options of Node's server. A
 * connection that sends no whole request is ended after 10 to 11 seconds.
 */
export const REQUEST_TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
