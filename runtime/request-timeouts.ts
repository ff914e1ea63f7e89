/**
 * Timeouts of an HTTP listener in milliseconds, as options of Node's server. A connection
 * that does not send a whole request is closed after 10 to 11 seconds (slow requests, slowloris).
 */
export const REQUEST_TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
