import type { Metadata } from "@grpc/grpc-js";
import type { Caller } from "../domain/caller";
import type { EndSignal } from "../domain/end-signal";

/** A call that a handler serves. gRPC passes the same metadata object to the interceptor and to the handler. */
export interface ServedCall {
  readonly metadata: Metadata;
}

interface CallRecord {
  readonly caller: Caller;
  readonly over: EndSignal;
  leave: (() => void) | undefined;
}

const callers = new WeakMap<Metadata, CallRecord>();

/**
 * Records the caller of an accepted call. Clients cannot forge the record, because it is not a part of the metadata.
 * @param over aborted with `CANCELLED` when the call is cancelled, and also when the last byte of the answer is sent
 */
export function setCaller(metadata: Metadata, caller: Caller, over: EndSignal): void {
  callers.set(metadata, { caller, over, leave: undefined });
}

/** Returns the caller of a call. Throws if the service of the call requires no token. */
export function callerOf(call: Pick<ServedCall, "metadata">): Caller {
  return recordOf(call).caller;
}

/**
 * Calls `done` when the answer of a call has been sent, or the call has been cancelled. Until the client reads the
 * answer, the answer stays in core's memory.
 */
export function whenOver(call: ServedCall, done: () => void): void {
  const { over } = recordOf(call);
  if (over.aborted) done();
  else over.addEventListener("abort", done, { once: true });
}

/**
 * Calls `leave` when core no longer accepts the call's token. The call then stays open for a few more seconds, in which
 * the client can move its work to another call. Without `leave`, core would end the call immediately.
 */
export function beforeRevoked(call: ServedCall, leave: () => void): void {
  recordOf(call).leave = leave;
}

/** Returns the function that `beforeRevoked` has set for the call with this metadata. */
export function leaveOf(metadata: Metadata): (() => void) | undefined {
  return callers.get(metadata)?.leave;
}

function recordOf({ metadata }: Pick<ServedCall, "metadata">) {
  const record = callers.get(metadata);
  if (record === undefined) throw new Error("the call has no caller, because its service requires no token");
  return record;
}

/**
 * Returns a signal that is aborted with `CANCELLED` when the client cancels the call, or when the call's deadline passes.
 * The signal is also aborted when the answer is sent.
 */
export function cancelledSignal(call: ServedCall): EndSignal {
  return recordOf(call).over;
}

/** The client no longer waits for the answer of a call. */
export class CallCancelled extends Error {
  override readonly name = "CallCancelled";
}

/** All cancelled calls share one error object, because creating an error also creates a stack trace. */
export const CANCELLED = new CallCancelled("nobody waits for the answer of this call");
