import { types } from "node:util";

/** An error that says what did not work, with the error that says why. */
export function errorOf(what: string, cause: unknown): Error {
  return new Error(`${what}: ${types.isNativeError(cause) ? cause.message : String(cause)}`, { cause });
}

/** Where problems go when nobody asks for them. */
export function warn(problem: Error): void {
  process.emitWarning(problem);
}
