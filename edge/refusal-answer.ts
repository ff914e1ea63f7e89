import { Refusal, type Refused } from "../proto/gen/chatbridge/v1/bridge";
import { NOT_FOUND, type ErrorAnswer } from "./error-body";

/** The answers to core's refusals (section "Errors" of the contract). */
const ANSWERS: Readonly<Record<Exclude<Refusal, Refusal.UNSPECIFIED>, ErrorAnswer>> = {
  [Refusal.ADDRESS_LIMIT]: { status: 429, message: "too many requests from this address" },
  [Refusal.UNKNOWN_WORKSPACE]: NOT_FOUND,
  [Refusal.SIGNATURE]: { status: 401, message: "Service-Signature is missing, malformed or wrong" },
  [Refusal.TIMESTAMP]: {
    status: 409,
    message: "the signed timestamp is more than 5 minutes from the service clock",
  },
  [Refusal.WORKSPACE_LIMIT]: { status: 429, message: "too many requests for this workspace" },
  [Refusal.INVALID]: { status: 400, message: "not valid" },
  [Refusal.PUSH_WORKSPACE]: {
    status: 403,
    message: "the workspace has a target URL: its events are pushed, none are held",
  },
};

/** The answer that a bridge gets for a refusal of core. */
export function refusalAnswer({ refusal, violation, retryAfterSeconds }: Refused): ErrorAnswer {
  if (refusal === Refusal.UNSPECIFIED) throw new Error("core refused without a reason");
  const answer = ANSWERS[refusal];
  return {
    ...answer,
    ...(violation === undefined ? {} : { message: violation.message, field: violation.field }),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  };
}
