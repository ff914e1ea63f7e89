import { ERRORS } from "../../contract/errors";
import {
  ADDRESS_REQUESTS_PER_SECOND,
  NETWORK_REQUESTS_PER_SECOND,
  PAGE_MAX_EVENTS,
  TIMESTAMP_TOLERANCE_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "../../contract/numbers";
import { Refusal } from "../../proto/gen/chatbridge/v1/bridge";
import { errorBody, type ErrorAnswer } from "../public/error-body";
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

/** The document omits SECRET_UNREADABLE, because a bridge cannot distinguish it from any other outage. */
type Reason = Exclude<Refusal, Refusal.UNSPECIFIED | Refusal.SECRET_UNREADABLE>;

/** Describes the reason for each of core's refusals. */
const REFUSAL_WORDS: Readonly<Record<Reason, string>> = {
  [Refusal.ADDRESS_LIMIT]: `more than ${ADDRESS_REQUESTS_PER_SECOND} requests a second from the sending address, or ${NETWORK_REQUESTS_PER_SECOND} from its IPv6 network (/64)`,
  [Refusal.UNKNOWN_WORKSPACE]:
    "the workspace does not exist, does not use a bridge, or is disconnected; all three get the same answer",
  [Refusal.SIGNATURE]: "`Service-Signature` is missing, malformed or wrong",
  [Refusal.TIMESTAMP]: `the signature is valid, but its timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes from the service clock`,
  [Refusal.WORKSPACE_LIMIT]: `more than ${WORKSPACE_REQUESTS_PER_SECOND} signed requests a second for the workspace`,
  [Refusal.INVALID]: "a field or query parameter breaks a rule; `field` names the field or parameter",
  [Refusal.PUSH_WORKSPACE]: "the workspace has a target URL, so events are pushed and not held",
};

/** A reason for an error answer: its name, a description, and an example of the answer. */
interface ErrorReason {
  readonly name: string;
  readonly words: string;
  readonly answer: ErrorAnswer;
}

/** The errors that every request can get, except core's refusals. */
const OF_EVERY_REQUEST: readonly ErrorReason[] = [
  { name: "not-http", words: ERRORS.notHttp.message, answer: ERRORS.notHttp },
  { name: "late", words: ERRORS.late.message, answer: ERRORS.late },
  { name: "headers-too-large", words: ERRORS.headersTooLarge.message, answer: ERRORS.headersTooLarge },
  { name: "internal", words: "an internal error of the service", answer: ERRORS.internal },
  {
    name: "unavailable",
    words: "the service is temporarily unavailable: send the request again; a POST must have the same `id`",
    answer: ERRORS.unavailable,
  },
];
const OF_BODIES: readonly ErrorReason[] = [
  {
    name: "not-json",
    words: "the body is not JSON in UTF-8, or is not an object; the answer has no `field`",
    answer: ERRORS.notJson,
  },
  { name: "too-large", words: ERRORS.tooLarge.message, answer: ERRORS.tooLarge },
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
  example: 1,
};
/** Statuses of answers that have the header Retry-After. */
const WITH_RETRY_AFTER: readonly number[] = [ERRORS.addressLimit.status, ERRORS.unavailable.status];

export function errorsOfPost(): Readonly<Record<string, Response>> {
  const refusals = REFUSALS_OF_BOTH.map((refusal) => ofRefusal(refusal, "user.id is required"));
  return responses([...refusals, ...OF_BODIES, ...OF_EVERY_REQUEST]);
}

export function errorsOfPoll(): Readonly<Record<string, Response>> {
  const refusals: readonly Reason[] = [...REFUSALS_OF_BOTH, Refusal.PUSH_WORKSPACE];
  const rule = `limit must be an integer from 1 to ${PAGE_MAX_EVENTS}`;
  return responses([...refusals.map((refusal) => ofRefusal(refusal, rule)), ...OF_EVERY_REQUEST]);
}

/**
 * @param rule the message of a 400 for a field or parameter; the message begins with the name of the field or parameter
 */
function ofRefusal(refusal: Reason, rule: string): ErrorReason {
  const [field = ""] = rule.split(" ");
  const violation = refusal === Refusal.INVALID ? { field, message: rule } : undefined;
  return {
    name: Refusal[refusal].toLowerCase().replaceAll("_", "-"),
    words: REFUSAL_WORDS[refusal],
    answer: refusalAnswer({ refusal, violation, retryAfterSeconds: 0 }),
  };
}

function responses(reasons: readonly ErrorReason[]): Readonly<Record<string, Response>> {
  const statuses = [...new Set(reasons.map(({ answer }) => answer.status))].toSorted((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const found = reasons.filter(({ answer }) => answer.status === status);
      return [String(status), errorResponse(status, found)];
    }),
  );
}

function errorResponse(status: number, reasons: readonly ErrorReason[]): Response {
  const { error } = errorBody({ status, message: "" });
  const exact: Schema =
    error === undefined
      ? {
          properties: { statusCode: { const: status } },
          not: { properties: { error: {} }, required: ["error"] },
        }
      : { properties: { statusCode: { const: status }, error: { const: error } }, required: ["error"] };
  const said = reasons.map(({ words }) => words).join("; ");
  const examples = reasons.map(({ name, answer }) => [name, { value: errorBody(answer) }] as const);
  return {
    description: `${said.charAt(0).toUpperCase()}${said.slice(1)}.`,
    ...(WITH_RETRY_AFTER.includes(status) ? { headers: { "Retry-After": RETRY_AFTER } } : {}),
    content: {
      "application/json": {
        schema: { allOf: [refTo("ErrorBody"), exact] },
        examples: Object.fromEntries(examples),
      },
    },
  };
}
