import type { Metadata } from "@grpc/grpc-js";
import type { Caller } from "../domain/caller";

/** A call that a handler serves. gRPC passes the same metadata object to the interceptor and to the handler. */
export interface ServedCall {
  readonly metadata: Metadata;
}

const callers = new WeakMap<Metadata, Caller>();

/** Records the caller of an accepted call. Clients cannot forge the record, because it is not a part of the metadata. */
export function setCaller(metadata: Metadata, caller: Caller): void {
  callers.set(metadata, caller);
}

/** Returns the caller of a call. Throws if the service of the call requires no token. */
export function callerOf({ metadata }: ServedCall): Caller {
  const caller = callers.get(metadata);
  if (caller === undefined) throw new Error("the call has no caller, because its service requires no token");
  return caller;
}
