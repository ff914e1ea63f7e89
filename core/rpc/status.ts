import { status, type handleUnaryCall, type ServiceError, type StatusObject } from "@grpc/grpc-js";
import { STORE_FULL } from "../../proto/codes";
import { parseWorkspaceId } from "../domain/workspace";
import { NOT_FOUND, type WorkspaceRefusal } from "../operations/workspaces";
import { StoreFull, StoreUnavailable } from "../ports/store-faults";
import { CallCancelled, type ServedCall } from "./call-caller";

/** An answer with a gRPC status other than OK; the message is for the caller. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(
    readonly code: status,
    message: string,
  ) {
    super(message);
  }
}

/** Logs an unexpected error, which is a bug. Called once per error. */
export type ReportFault = (where: string, error: unknown) => void;

/**
 * Returns the status that the caller gets for an error. The text of an unexpected error is reported, but never sent.
 */
export function toStatus(where: string, error: unknown, report: ReportFault): Partial<StatusObject> {
  if (error instanceof StatusError) return { code: error.code, details: error.message };
  if (error instanceof StoreFull)
    return { code: status.UNAVAILABLE, details: `${STORE_FULL}: ${error.message}` };
  if (error instanceof CallCancelled) return { code: status.CANCELLED, details: error.message };
  if (error instanceof StoreUnavailable) {
    return { code: status.UNAVAILABLE, details: "the store is unavailable: try again" };
  }
  report(where, error);
  return { code: status.INTERNAL, details: "internal error" };
}

/** Makes a handler of unary calls from a function that returns the response or throws. */
export function unary<Request, Response>(
  where: string,
  report: ReportFault,
  handle: (request: Request, call: ServedCall) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    handle(call.request, call).then(
      (response) => callback(null, response),
      (error: unknown) => callback(toStatus(where, error, report) as Partial<ServiceError>),
    );
  };
}

/** Returns the outcome. If the outcome is a refusal, throws the status of the refusal. */
export function accepted<T extends object>(outcome: T | WorkspaceRefusal): T {
  if (isRefusal(outcome)) throw toError(outcome);
  return outcome;
}

/**
 * Returns the workspace id in a request. Throws NOT_FOUND when the text is not a UUID, because no workspace has such an
 * id.
 */
export function readWorkspaceId(text: string): string {
  const id = parseWorkspaceId(text);
  if (id === undefined) throw toError(NOT_FOUND);
  return id;
}

function isRefusal(outcome: object): outcome is WorkspaceRefusal {
  return "refused" in outcome;
}

function toError(refusal: WorkspaceRefusal): StatusError {
  switch (refusal.refused) {
    case "not-found":
      return new StatusError(status.NOT_FOUND, "there is no such workspace");
    case "invalid":
      return new StatusError(status.INVALID_ARGUMENT, refusal.message);
    case "precondition":
      return new StatusError(status.FAILED_PRECONDITION, refusal.message);
    case "too-many":
      return new StatusError(status.RESOURCE_EXHAUSTED, refusal.message);
  }
}

/** Returns `page`. Throws INVALID_ARGUMENT when `page` is undefined, because the page token was invalid. */
export function existingPage<Page>(page: Page | undefined): Page {
  if (page === undefined) throw badPageToken();
  return page;
}

export function badPageToken(): StatusError {
  return new StatusError(
    status.INVALID_ARGUMENT,
    "page_token must be the next_page_token of a previous page",
  );
}
