import { types } from "node:util";

/** Returns an error whose message is `what`, followed by the message of `cause`. */
export function errorOf(what: string, cause: unknown): Error {
  return new Error(`${what}: ${types.isNativeError(cause) ? cause.message : String(cause)}`, { cause });
}

/** The default `report`: emits a process warning. */
export function warn(problem: Error): void {
  process.emitWarning(problem);
}
