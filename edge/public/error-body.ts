import { STATUS_CODES } from "node:http";
import { ERRORS, type ContractError } from "../../contract/errors";

/** The contract's error body (section "Error body"). */
export interface ErrorBody {
  readonly statusCode: number;
  /** For people; never the text of an internal fault. */
  readonly message: string;
  /** The status text; a 413 has none. */
  readonly error?: string;
  /** The first invalid field, on a 400 for a field rule. */
  readonly field?: string;
}

/** An error answer: its status, headers and body. */
export interface ErrorAnswer extends ContractError {
  readonly field?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

const NO_STATUS_TEXT = ERRORS.tooLarge.status;

export function errorBody({ status, message, field }: ErrorAnswer): ErrorBody {
  const error = STATUS_CODES[status];
  return {
    statusCode: status,
    message,
    ...(error === undefined || status === NO_STATUS_TEXT ? {} : { error }),
    ...(field === undefined ? {} : { field }),
  };
}

export const UNAVAILABLE: ErrorAnswer = { ...ERRORS.unavailable, retryAfterSeconds: 1 };
