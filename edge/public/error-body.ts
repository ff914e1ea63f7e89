import { STATUS_CODES } from "node:http";
import { ERRORS, type ContractError } from "../../contract/errors";

/** An error answer: its status, headers and body. The message is never the text of an internal fault. */
export interface ErrorAnswer extends ContractError {
  /** The first invalid field; set only in a 400 for a violated field rule. */
  readonly field?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

const NO_STATUS_TEXT = ERRORS.tooLarge.status;

/** Returns the contract's error body (bridge guide, "Errors"). `error` is the status text; a 413 has no `error`. */
export function errorBody({ status, message, field }: ErrorAnswer) {
  const error = STATUS_CODES[status];
  return {
    statusCode: status,
    message,
    ...(error === undefined || status === NO_STATUS_TEXT ? {} : { error }),
    ...(field === undefined ? {} : { field }),
  };
}

export const UNAVAILABLE: ErrorAnswer = { ...ERRORS.unavailable, retryAfterSeconds: 1 };
