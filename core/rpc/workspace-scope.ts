import { status, type ServiceError, type StatusObject } from "@grpc/grpc-js";
import type { WorkspaceServiceServer } from "../../proto/gen/chatbridge/v1/workspace";
import { isInScope } from "../domain/caller";
import { parseWorkspaceId } from "../domain/workspace";
import { callerOf, type ServedCall } from "./call-caller";
import { StatusError, toStatus, type ReportFault } from "./status";

/**
 * The methods that limited tokens may call although their requests have no workspace id. These methods consult the
 * caller's scope themselves.
 */
const FOR_LIMITED_TOKENS: ReadonlySet<string> = new Set([
  "getCaller",
  "listWorkspaces",
  "countWorkspaces",
  "summarizeWorkspaces",
]);

/** A unary or server-streaming call of `WorkspaceService`. */
interface ScopedCall extends ServedCall {
  readonly request: { readonly workspaceId?: string };
  emit(event: "error", error: Partial<StatusObject>): boolean;
}
type Handler = (call: ScopedCall, callback?: (error: Partial<ServiceError>) => void) => void;

/**
 * Returns handlers that check the caller's scope before each call. For a workspace outside the scope, core gives the
 * same answer as for a workspace that does not exist. A method without a workspace id is rejected, unless
 * `FOR_LIMITED_TOKENS` lists the method. So nobody can add a method without the check.
 */
export function withinScope(service: WorkspaceServiceServer, report: ReportFault): WorkspaceServiceServer {
  const handlers = Object.entries(service as unknown as Readonly<Record<string, Handler>>);
  const guarded = handlers.map(([method, handle]): readonly [string, Handler] => [
    method,
    (call, callback) => {
      try {
        checkScope(method, call);
      } catch (error) {
        const refused = toStatus(method, error, report);
        if (callback === undefined) call.emit("error", refused);
        else callback(refused);
        return;
      }
      handle(call, callback);
    },
  ]);
  return Object.fromEntries(guarded) as unknown as WorkspaceServiceServer;
}

function checkScope(method: string, call: ScopedCall): void {
  const caller = callerOf(call);
  if (caller.workspaces === undefined || FOR_LIMITED_TOKENS.has(method)) return;
  const { workspaceId } = call.request;
  if (workspaceId === undefined) {
    const limited = `the token ${caller.name} is limited to some workspaces, so it cannot make this call: use another token`;
    throw new StatusError(status.PERMISSION_DENIED, limited);
  }
  if (!isInScope(caller, parseWorkspaceId(workspaceId) ?? "")) {
    const limited = `there is no such workspace, or the token ${caller.name} may not see it`;
    throw new StatusError(status.NOT_FOUND, limited);
  }
}
