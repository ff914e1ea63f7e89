import { ERRORS } from "../../contract/errors";
import {
  ADDRESS_REQUESTS_PER_SECOND,
  TIMESTAMP_TOLERANCE_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "../../contract/numbers";
import { Refusal } from "../../proto/gen/chatbridge/v1/bridge";
import { errorBody } from "../public/error-body";
import { refTo, type Header, type Response, type Schema } from "./shape";
import { refusalAnswer } from "../public/refusal-answer";

export const ERROR_BODY: Schema = {
  type: "object",
  description: "An error. Branch on the status code: the text of `message` is not stable.",
  properties: {
    statusCode: { type: "integer", description: "The status of the answer." },
    message: {
      description: "The error in words, for people.",
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
    },
    error: { type: "string", description: "The status text; a 413 has none." },
    field: {
      type: "string",
      description:
        "The first invalid field or parameter, when it is the reason for a 400. Nested names are dotted, e.g. `user.id`.",
    },
  },
  required: ["statusCode", "message"],
};

type Reason = Exclude<Refusal, Refusal.UNSPECIFIED>;

/** A description of the reason for each of core's refusals. */
const REFUSAL_WORDS: Readonly<Record<Reason, string>> = {
  [Refusal.ADDRESS_LIMIT]: `more than ${ADDRESS_REQUESTS_PER_SECOND} requests a second from the sending address`,
  [Refusal.UNKNOWN_WORKSPACE]:
    "the workspace does not exist, does not use a bridge, or is disconnected; all three get the same answer",
  [Refusal.SIGNATURE]: "`Service-Signature` is missing, malformed or wrong",
  [Refusal.TIMESTAMP]: `the signature is valid, but its timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes from the service clock`,
  [Refusal.WORKSPACE_LIMIT]: `more than ${WORKSPACE_REQUESTS_PER_SECOND} signed requests a second for the workspace`,
  [Refusal.INVALID]: "a field or query parameter breaks a rule; `field` names the field or parameter",
  [Refusal.PUSH_WORKSPACE]: "the workspace has a target URL, so events are pushed and not held",
};

/** The errors that every request can get, except core's refusals. */
const OF_EVERY_REQUEST: readonly (readonly [status: number, words: string])[] = [
  [ERRORS.notHttp.status, ERRORS.notHttp.message],
  [ERRORS.late.status, ERRORS.late.message],
  [ERRORS.headersTooLarge.status, ERRORS.headersTooLarge.message],
  [ERRORS.internal.status, "an internal error of the service"],
  [
    ERRORS.unavailable.status,
    "the service is temporarily unavailable: send the request again; a POST must have the same `id`",
  ],
];
const OF_BODIES: readonly (readonly [status: number, words: string])[] = [
  [ERRORS.notJson.status, "the body is not JSON in UTF-8, or is not an object; the answer has no `field`"],
  [ERRORS.tooLarge.status, ERRORS.tooLarge.message],
];

const REFUSALS_OF_BOTH: readonly Reason[] = [
  Refusal.ADDRESS_LIMIT,
  Refusal.UNKNOWN_WORKSPACE,
  Refusal.SIGNATURE,
  Refusal.TIMESTAMP,
  Refusal.WORKSPACE_LIMIT,
  Refusal.INVALID,
];

const RETRY_AFTER: Header = {
  required: true,
  description: "Seconds until the request may be sent again.",
  schema: { type: "integer", minimum: 1 },
};
/** Statuses of answers that have the header Retry-After. */
const WITH_RETRY_AFTER: readonly number[] = [ERRORS.addressLimit.status, ERRORS.unavailable.status];

export function errorsOfPost(): Readonly<Record<string, Response>> {
  return responses([...REFUSALS_OF_BOTH.map(ofRefusal), ...OF_BODIES, ...OF_EVERY_REQUEST]);
}

export function errorsOfPoll(): Readonly<Record<string, Response>> {
  return responses([
    ...REFUSALS_OF_BOTH.map(ofRefusal),
    ofRefusal(Refusal.PUSH_WORKSPACE),
    ...OF_EVERY_REQUEST,
  ]);
}

function ofRefusal(refusal: Reason): readonly [number, string] {
  return [refusalStatus(refusal), REFUSAL_WORDS[refusal]];
}

function refusalStatus(refusal: Refusal): number {
  return refusalAnswer({ refusal, violation: undefined, retryAfterSeconds: 0 }).status;
}

function responses(
  reasons: readonly (readonly [status: number, words: string])[],
): Readonly<Record<string, Response>> {
  const statuses = [...new Set(reasons.map(([status]) => status))].toSorted((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const words = reasons.filter(([of]) => of === status).map(([, each]) => each);
      return [String(status), errorResponse(status, words)];
    }),
  );
}

function errorResponse(status: number, words: readonly string[]): Response {
  const { error } = errorBody({ status, message: "" });
  const exact: Schema =
    error === undefined
      ? { properties: { statusCode: { const: status } }, not: { required: ["error"] } }
      : { properties: { statusCode: { const: status }, error: { const: error } }, required: ["error"] };
  const said = words.join("; ");
  return {
    description: `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
    ...(WITH_RETRY_AFTER.includes(status) ? { headers: { "Retry-After": RETRY_AFTER } } : {}),
    content: { "application/json": { schema: { allOf: [refTo("ErrorBody"), exact] } } },
  };
}
