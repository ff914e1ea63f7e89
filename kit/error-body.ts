import { STATUS_CODES } from "node:http";
import { isObject, readJson } from "./read-event";

/** Returns an error body in the format that the contract defines (bridge guide, "Errors"). */
export function errorBody(statusCode: number, message: string): string {
  return JSON.stringify({ statusCode, message, error: STATUS_CODES[statusCode] });
}

/** Returns the message of an error body, and the invalid field if the body names a field. */
export function readError(body: Uint8Array): { readonly message: string; readonly field?: string } {
  const json = readJson(body);
  const { message, field } = isObject(json) ? json : {};
  const words = Array.isArray(message) ? message.join("; ") : message;
  return {
    message: typeof words === "string" ? words : "the answer does not say why",
    ...(typeof field === "string" ? { field } : {}),
  };
}
