import { status, type ServiceError } from "@grpc/grpc-js";
import type { WorkspaceServiceServer } from "../../proto/gen/chatbridge/v1/workspace";
import { createShares } from "../../runtime/shares";
import { WORKSPACE_CALLS_MAX_BYTES } from "../domain/bounds";
import { LOGGED_MAX } from "../ports/delivery-log";
import { callerOf, whenOver, type ServedCall } from "./call-caller";
import type { CallPace } from "./call-pace";
import { createCallTurns } from "./call-turns";
import { PAGE_DEFAULT, PAGE_MAX } from "./page-size";
import { StatusError, toStatus, type ReportFault } from "./status";
import { ownerOf, tooMuch } from "./token-shares";

/**
 * Bytes counted for each call, and for each row of a page. A request has at most `WORKSPACE_REQUEST_MAX_BYTES`, and a
 * call reads at most the delivery log of one workspace. A row is either a short delivery, or a workspace, whose fields
 * may all have their maximum length.
 */
const CALL_BYTES = 256 * 1024;
const WORKSPACE_BYTES = 4 * 1024;
const DELIVERY_BYTES = 2 * 1024;
const MB = 1_048_576;
/** Reading this many rows of a page takes about as long as one call. */
const ROWS_PER_CALL = 100;

/** The methods whose rows are deliveries. `GetEvent` looks for an event in the whole log of a workspace. */
const OF_DELIVERIES: ReadonlySet<string> = new Set(["listDeliveries", "getEvent"]);

interface UnaryCall extends ServedCall {
  readonly request: { readonly pageSize?: number };
}
type Callback = (error: Partial<ServiceError> | null, response?: unknown) => void;
type Handler = (call: UnaryCall, callback?: Callback) => void;

/**
 * The methods that wait for a bridge or for a name server. These methods have their own bounds, so their calls do not
 * wait for a turn.
 */
const WITHOUT_TURN: ReadonlySet<string> = new Set([
  "sendTestEvent",
  "sendTestOperatorEvent",
  "setOperatorEventsAddress",
  "setTargetUrl",
]);

/**
 * Returns the handlers of `WorkspaceService`. They limit the bytes of all unary calls in progress, and give each token
 * a share of this limit. Core rejects a call that would exceed the limit or the share. If the call waited, core would
 * have to keep the request, and the caller could not choose another core. Other calls wait for the turn of their token,
 * except calls of the methods in `WITHOUT_TURN`. A call is in progress until its answer is sent. `WatchWorkspace` has
 * its own bound.
 */
export function withinShares(
  service: WorkspaceServiceServer,
  report: ReportFault,
  pace: CallPace,
): WorkspaceServiceServer {
  const shares = createShares(WORKSPACE_CALLS_MAX_BYTES);
  const inTurn = createCallTurns();
  const handlers = Object.entries(service as unknown as Readonly<Record<string, Handler>>);
  const bounded = handlers.map(([method, handle]): readonly [string, Handler] => [
    method,
    (call, callback) => {
      if (callback === undefined) return handle(call);
      const caller = callerOf(call);
      const rowBytes = OF_DELIVERIES.has(method) ? DELIVERY_BYTES : WORKSPACE_BYTES;
      const rows = method === "getEvent" ? LOGGED_MAX : rowsOf(call);
      const release = shares.acquire(ownerOf(caller), CALL_BYTES + rows * rowBytes);
      if (typeof release === "string") {
        const calls = `${shares.max[release] / MB} MB of calls in progress`;
        const refusal = new StatusError(status.RESOURCE_EXHAUSTED, tooMuch(calls, release, caller));
        return callback(toStatus(method, refusal, report));
      }
      const answer: Callback = (error, response) => {
        callback(error, response);
        // An error takes little memory, but may have to wait for its turn under `REFUSALS`, so the bytes are released
        // immediately.
        if (error === null) whenOver(call, release);
        else release();
      };
      if (WITHOUT_TURN.has(method)) return handle(call, answer);
      pace.countCalls(call, rows / ROWS_PER_CALL);
      const serve = (): Promise<void> =>
        new Promise((resolve) => {
          handle(call, (error, response) => {
            answer(error, response);
            resolve();
          });
        });
      inTurn(call, serve).catch((error: unknown) => answer(toStatus(method, error, report)));
    },
  ]);
  return Object.fromEntries(bounded) as unknown as WorkspaceServiceServer;
}

/** Returns the maximum number of rows in the answer of a call: 0 if the answer has no pages. */
function rowsOf({ request: { pageSize } }: UnaryCall): number {
  return pageSize === undefined ? 0 : Math.min(pageSize || PAGE_DEFAULT, PAGE_MAX);
}
