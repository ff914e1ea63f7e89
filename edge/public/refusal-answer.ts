import { ERRORS } from "../../contract/errors";
import { Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import { UNAVAILABLE, type ErrorAnswer } from "./error-body";

/** The HTTP answer for each of core's refusals. */
const ANSWERS: Readonly<Record<Exclude<Refusal, Refusal.UNSPECIFIED>, ErrorAnswer>> = {
  [Refusal.ADDRESS_LIMIT]: ERRORS.addressLimit,
  [Refusal.UNKNOWN_WORKSPACE]: ERRORS.notFound,
  [Refusal.SIGNATURE]: ERRORS.signature,
  [Refusal.TIMESTAMP]: ERRORS.timestamp,
  [Refusal.WORKSPACE_LIMIT]: ERRORS.workspaceLimit,
  [Refusal.INVALID]: ERRORS.invalid,
  [Refusal.PUSH_WORKSPACE]: ERRORS.pushWorkspace,
  [Refusal.SECRET_UNREADABLE]: UNAVAILABLE,
};

/** Returns the answer that a bridge gets when core rejects its request. */
export function refusalAnswer({ refusal, violation, retryAfterSeconds }: Refused): ErrorAnswer {
  if (refusal === Refusal.UNSPECIFIED) throw new Error("core rejected a request and gave no reason");
  const answer = ANSWERS[refusal];
  return {
    ...answer,
    ...(violation === undefined ? {} : { message: violation.message, field: violation.field }),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  };
}
