import { status, type ServiceError } from "@grpc/grpc-js";
import { ERRORS } from "../../contract/errors";
import type { ErrorAnswer } from "../public/error-body";

/** The answer when there is no session, or when core no longer accepts the session's token. */
export const SIGNED_OUT: ErrorAnswer = { status: 401, message: "You are not signed in." };
/** The HTTP status when core rejects a call because the operator or the workspace has reached a limit. */
export const TOO_MANY = 429;
export const NO_WORKSPACE: ErrorAnswer = { status: 404, message: "The workspace does not exist." };
const NO_ENTRY: ErrorAnswer = { status: 404, message: "The log no longer has this entry." };
const NO_EVENT: ErrorAnswer = {
  status: 404,
  message: "Nothing is stored about this event. Events are held for 24 hours, and the log keeps 7 days.",
};
export const CORE_AWAY: ErrorAnswer = {
  status: 503,
  message: "The service's core does not answer right now.",
  retryAfterSeconds: 1,
};

/** The answer during an upgrade, when core still runs an older release. */
export const CORE_TOO_OLD: ErrorAnswer = {
  status: 503,
  message: "Core runs an older release, which cannot list workspaces by state. Upgrade core.",
  retryAfterSeconds: 1,
};

/** gRPC statuses of calls that core did not answer. */
const OUT_OF_REACH: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
]);

/** Maps each of core's field names to the front end's name for the field, and to its name in error messages. */
const FIELDS: Readonly<Record<string, readonly [field: string, words: string]>> = {
  target_url: ["targetUrl", "the target URL"],
  owner_email: ["ownerEmail", "the owner's email"],
  name: ["name", "the name"],
  delivery_id: ["deliveryId", "the id of the delivery"],
  event_id: ["eventId", "the id of the event"],
  address: ["address", "the address"],
  event_ids: ["eventIds", "the request"],
};

/** Whether an error is a gRPC error, which means that core answered with an error or did not answer. */
export function isServiceError(error: unknown): error is ServiceError {
  return (
    error instanceof Error && typeof (error as Partial<ServiceError>).code === "number" && "details" in error
  );
}

/**
 * Returns the HTTP answer for a failed call to core, according to the gRPC status; undefined when the error is
 * unexpected, which is a bug.
 */
export function coreAnswer({ code, details }: ServiceError): ErrorAnswer | undefined {
  if (OUT_OF_REACH.has(code)) return CORE_AWAY;
  switch (code) {
    case status.NOT_FOUND:
      if (details.startsWith("event_id:")) return NO_EVENT;
      return details.startsWith("delivery_id:") ? NO_ENTRY : NO_WORKSPACE;
    case status.UNAUTHENTICATED:
      return SIGNED_OUT;
    case status.PERMISSION_DENIED:
      return { status: 403, message: sentence(details) };
    case status.FAILED_PRECONDITION:
      return { status: 409, message: sentence(details) };
    case status.INVALID_ARGUMENT:
      return invalid(details);
    case status.RESOURCE_EXHAUSTED:
      return { status: TOO_MANY, message: sentence(details) };
    default:
      return undefined;
  }
}

function invalid(details: string): ErrorAnswer {
  const [, name = "", colon, rest = ""] = /^([a-z_]+)(:?) (.*)$/s.exec(details) ?? [];
  const known = FIELDS[name];
  if (known === undefined) return { status: 400, message: sentence(details) };
  const [field, words] = known;
  return { status: 400, field, message: sentence(colon === ":" ? rest : `${words} ${rest}`) };
}

function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? "" : ".";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${end}`;
}

export const FAULT: ErrorAnswer = {
  ...ERRORS.internal,
  message: "The dashboard's server failed. The error is in the log of the edge.",
};
