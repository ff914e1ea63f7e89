import { STATUS_CODES } from "node:http";

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

/** The same answer for every path, method and workspace that does not exist. */
export const NOT_FOUND: ErrorAnswer = { status: 404, message: "no such path or workspace" };
export const UNAVAILABLE: ErrorAnswer = {
  status: 503,
  message: "the service is temporarily unavailable: send the request again",
  retryAfterSeconds: 1,
};
export const INTERNAL: ErrorAnswer = {
  status: 500,
  message: "internal error of the service: send the request again",
};
