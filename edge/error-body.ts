import { STATUS_CODES } from "node:http";

/** The contract's error body ("Error body"). */
export interface ErrorBody {
  readonly statusCode: number;
  /** For people; never the text of an internal fault. */
  readonly message: string;
  /** The status text; a 413 has none. */
  readonly error?: string;
  /** The first field at fault, on a schema 400. */
  readonly field?: string;
}

/** An answer that is an error: its status, headers and body. */
export interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly field?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

const NO_STATUS_TEXT = 413;

export function errorBody({ status, message, field }: ErrorAnswer): ErrorBody {
  const error = STATUS_CODES[status];
  return {
    statusCode: status,
    message,
    ...(error === undefined || status === NO_STATUS_TEXT ? {} : { error }),
    ...(field === undefined ? {} : { field }),
  };
}

/** The same answer for every path, method and workspace that is not there. */
export const NOT_FOUND: ErrorAnswer = { status: 404, message: "there is nothing here" };
export const UNAVAILABLE: ErrorAnswer = {
  status: 503,
  message: "the service cannot take this now: send it again",
  retryAfterSeconds: 1,
};
export const INTERNAL: ErrorAnswer = { status: 500, message: "the service has made a mistake" };
