import { status, type handleUnaryCall, type ServiceError, type StatusObject } from "@grpc/grpc-js";
import { parseWorkspaceId } from "../domain/workspace-id";
import { NOT_FOUND, type WorkspaceRefusal } from "../operations/workspace-change";
import { StoreUnavailable } from "../ports/store-unavailable";

/** An answer of a gRPC status other than OK, in words for the caller. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(
    readonly code: status,
    message: string,
  ) {
    super(message);
  }
}

/** Logs a fault that is a bug, once. */
export type ReportFault = (where: string, error: unknown) => void;

/** What a caller is told of an error: never the text of an unexpected one, which is reported instead. */
export function toStatus(where: string, error: unknown, report: ReportFault): Partial<StatusObject> {
  if (error instanceof StatusError) return { code: error.code, details: error.message };
  if (error instanceof StoreUnavailable) {
    return { code: status.UNAVAILABLE, details: "the store is out of reach: try again" };
  }
  report(where, error);
  return { code: status.INTERNAL, details: "internal error" };
}

/** A handler of unary calls out of a function that answers or throws. */
export function unary<Request, Response>(
  where: string,
  report: ReportFault,
  handle: (request: Request) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    handle(call.request).then(
      (response) => callback(null, response),
      (error: unknown) => callback(toStatus(where, error, report) as Partial<ServiceError>),
    );
  };
}

/** Throws the status of a refusal; what is not refused comes back. */
export function accepted<T extends object>(outcome: T | WorkspaceRefusal): T {
  if (!isRefusal(outcome)) return outcome;
  switch (outcome.refused) {
    case "not-found":
      throw new StatusError(status.NOT_FOUND, "there is no such workspace");
    case "invalid":
      throw new StatusError(status.INVALID_ARGUMENT, outcome.message);
    case "precondition":
      throw new StatusError(status.FAILED_PRECONDITION, outcome.message);
  }
}

/** The id of a workspace as a request names it. Throws NOT_FOUND for what is no uuid: it names no workspace. */
export function readWorkspaceId(text: string): string {
  return parseWorkspaceId(text) ?? accepted(NOT_FOUND as never);
}

function isRefusal(outcome: object): outcome is WorkspaceRefusal {
  return "refused" in outcome;
}
