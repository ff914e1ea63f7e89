import type { ServerResponse } from "node:http";
import { errorBody, type ErrorAnswer } from "./error-body";

/**
 * Sends an answer. If a header is invalid, throws and sends nothing.
 * @param headers alternating names and values, with the Content-Length
 */
export function answer(
  response: ServerResponse,
  status: number,
  headers: string[],
  body: Uint8Array | string,
): void {
  response.writeHead(status, headers);
  response.end(body);
}

export function answerError(response: ServerResponse, error: ErrorAnswer): void {
  const body = JSON.stringify(errorBody(error));
  const headers = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))];
  if (error.retryAfterSeconds !== undefined) headers.unshift("retry-after", String(error.retryAfterSeconds));
  answer(response, error.status, headers, body);
}
