/**
 * The kinds of requests that core counts for each workspace: accepted posts, polls and pushes, failed push attempts,
 * and a kind for each reason to refuse a post or poll.
 */
export const REQUEST_KINDS = [
  "post",
  "poll",
  "push",
  "push-failed",
  "not-json",
  "invalid",
  "signature",
  "push-workspace",
  "disconnected",
  "timestamp",
  "too-large",
  "address-limit",
  "workspace-limit",
  "secret-unreadable",
] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];
/** The reasons for which the service refuses a request of a bridge. */
export type RefusalKind = Exclude<RequestKind, "post" | "poll" | "push" | "push-failed">;

/** The HTTP status of the answer to a refused request, for each reason. */
export const REFUSAL_STATUS: Readonly<Record<RefusalKind, number>> = {
  "not-json": 400,
  invalid: 400,
  signature: 401,
  "push-workspace": 403,
  disconnected: 404,
  timestamp: 409,
  "too-large": 413,
  "address-limit": 429,
  "workspace-limit": 429,
  "secret-unreadable": 503,
};

/** Core counts requests in buckets of this many minutes. Together, `REQUEST_BUCKETS` buckets cover the last hour. */
export const REQUEST_BUCKET_MINUTES = 5;
export const REQUEST_BUCKETS = 12;

export function isRefusal(kind: RequestKind): kind is RefusalKind {
  return Object.hasOwn(REFUSAL_STATUS, kind);
}

/** The likely causes of an invalid signature. Core reports the first cause that it finds. */
export const SIGNATURE_CAUSES = [
  // The header is missing, or does not have the contract's form.
  "missing",
  "repeated-header",
  "spaces",
  "name-in-value",
  "without-timestamp",
  "timestamp-form",
  "without-digest",
  "order",
  "base64-digest",
  "digest-form",
  // The digest is not valid for the exact bytes under any active secret.
  "digest-length",
  "expired-secret",
  "secret-base64",
  "secret-hex",
  "secret-newline",
  "secret-quotes",
  "secret-empty",
  "body-only",
  "separator",
  "milliseconds",
  "newline-added",
  "newline-removed",
  "re-serialized",
  "empty-text",
  "question-mark",
  "url",
  "query-decoded",
  "swapped",
  "not-hmac",
  /** None of the above causes: the bridge used a different secret, or signed different bytes. */
  "unknown",
] as const;

export type SignatureCause = (typeof SIGNATURE_CAUSES)[number];
