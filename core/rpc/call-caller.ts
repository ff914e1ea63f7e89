import type { Metadata } from "@grpc/grpc-js";
import type { Caller } from "../domain/caller";

/** A call that a handler serves. gRPC passes the same metadata object to the interceptor and to the handler. */
export interface ServedCall {
  readonly metadata: Metadata;
}

const callers = new WeakMap<Metadata, { readonly caller: Caller; readonly over: AbortSignal }>();

/**
 * Records the caller of an accepted call. Clients cannot forge the record, because it is not a part of the metadata.
 * @param over aborted when the last byte of the answer is sent, or the call is cancelled
 */
export function setCaller(metadata: Metadata, caller: Caller, over: AbortSignal): void {
  callers.set(metadata, { caller, over });
}

/** Returns the caller of a call. Throws if the service of the call requires no token. */
export function callerOf(call: ServedCall): Caller {
  return recordOf(call).caller;
}

/**
 * Calls `done` when the answer of a call is sent, or the call is cancelled. An answer that the client does not read stays
 * in core's memory.
 */
export function whenOver(call: ServedCall, done: () => void): void {
  const { over } = recordOf(call);
  if (over.aborted) done();
  else over.addEventListener("abort", done, { once: true });
}

function recordOf({ metadata }: ServedCall) {
  const record = callers.get(metadata);
  if (record === undefined) throw new Error("the call has no caller, because its service requires no token");
  return record;
}
