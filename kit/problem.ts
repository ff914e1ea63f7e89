import { types } from "node:util";

/** Returns an error whose message is `what`, followed by the message of `cause`. */
export function errorOf(what: string, cause: unknown): Error {
  return new Error(`${what}: ${reasonOf(cause)}`, { cause });
}

/** Returns the message of an error, or any other thrown value as text. */
export function reasonOf(cause: unknown): string {
  return types.isNativeError(cause) ? cause.message : String(cause);
}

/** The default `report`: emits a process warning. */
export function warn(problem: Error): void {
  process.emitWarning(problem);
}
