import { STATUS_CODES } from "node:http";
import { isObject, readJson } from "./read-event";

/** Advice about each status with which the service refuses a request (bridge guide, "Errors"). */
const HINTS: Readonly<Record<number, string>> = {
  401: "check that the signing secret is the newest secret of this workspace in the dashboard",
  403: 'the workspace has a target URL: clear the URL in the dashboard, or set mode to "push"',
  404: "check the base URL and the workspace id, and that the workspace is connected in the dashboard",
  409: "set this machine's clock, for example with NTP",
};

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

/** Returns a sentence about a refusal by the service, with a hint if there is one. */
export function refusedBy(status: number, message: string): string {
  const hint = HINTS[status];
  return `the service answered with ${status}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}
