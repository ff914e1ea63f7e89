import { BODY_MAX_BYTES, HEADERS_MAX_BYTES, TIMESTAMP_TOLERANCE_SECONDS } from "./numbers";

/**
 * The status and the message of an error answer. The message is for people, and may change (bridge guide, "Errors").
 */
export interface ContractError {
  readonly status: number;
  readonly message: string;
}

/**
 * The error answers of the public endpoints. The answers to failed checks 1 to 7 (see docs/checks.md) come
 * first, in the order of the checks.
 */
export const ERRORS = {
  notJson: { status: 400, message: "the body must be valid JSON" },
  tooLarge: { status: 413, message: `the body must be at most ${BODY_MAX_BYTES} bytes` },
  addressLimit: { status: 429, message: "too many requests from this address" },
  /** The answer is the same for every unknown path, method and workspace. */
  notFound: { status: 404, message: "no such path or workspace" },
  signature: { status: 401, message: "Service-Signature is missing, malformed or wrong" },
  /** In an actual answer, the message says how far the timestamp is off: see `staleTimestamp`. */
  timestamp: {
    status: 409,
    message: `the signed timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes from the service clock`,
  },
  workspaceLimit: { status: 429, message: "too many requests for this workspace" },
  /** A field or parameter breaks a rule. In an actual answer, the message names the rule. */
  invalid: { status: 400, message: "not valid" },
  pushWorkspace: {
    status: 403,
    message: "the workspace has a target URL: its events are pushed, none are held",
  },
  notHttp: { status: 400, message: "the request is not valid HTTP" },
  incomplete: { status: 400, message: "the body did not arrive completely" },
  headersTooLarge: { status: 431, message: `the headers must be at most ${HEADERS_MAX_BYTES} bytes` },
  late: { status: 408, message: "the request did not arrive in time" },
  internal: { status: 500, message: "internal error of the service: send the request again" },
  unavailable: { status: 503, message: "the service is temporarily unavailable: send the request again" },
} as const satisfies Readonly<Record<string, ContractError>>;
