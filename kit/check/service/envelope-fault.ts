import { ACTION_MAX_CHARACTERS } from "../../../contract/numbers";
import { EVENT_ID_FORM, MESSAGE_ID_FORM } from "../../../contract/forms";
import { isObject, readEvent } from "../../read-event";

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Returns the fault of an outbound event according to the contract's tables; undefined if there is none. Unknown
 * fields and unknown message kinds are not faults.
 */
export function envelopeFault(value: unknown, workspace: string): string | undefined {
  const reading = readEvent(value);
  if ("fault" in reading) return reading.fault;
  if ("unknown" in reading) return `its type ${JSON.stringify(reading.unknown.type)} is unknown`;
  const { event } = reading;
  if (!EVENT_ID_FORM.test(event.id))
    return "its id is not evt_ followed by 26 characters of Crockford base32";
  if (event.workspace.toLowerCase() !== workspace.toLowerCase())
    return "its workspace is not the polled workspace";
  if (event.sequence < 1) return "its sequence is below 1";
  if (!DATE_TIME.test(event.createdAt)) return "its createdAt is not an ISO 8601 time in UTC";
  if (event.expiresAt !== null && !DATE_TIME.test(event.expiresAt))
    return "its expiresAt is not an ISO 8601 time in UTC";
  return "message" in event ? messageFault(event.message) : undefined;
}

function messageFault(message: unknown): string | undefined {
  if (!isObject(message)) return "its message is not an object";
  const { id, buttons, image, awaitsReply, data } = message;
  if (typeof id !== "string" || !MESSAGE_ID_FORM.test(id)) {
    return "its message.id is not msg_ followed by 26 characters of Crockford base32";
  }
  if (!Array.isArray(buttons) || !buttons.every(isRow))
    return "its message.buttons is not a list of rows of buttons";
  if (image !== null && !(typeof image === "string" && URL.canParse(image))) {
    return "its message.image is neither null nor a URI";
  }
  if (typeof awaitsReply !== "boolean") return "its message.awaitsReply is not a boolean";
  return data === null || isObject(data) ? undefined : "its message.data is neither null nor an object";
}

function isRow(row: unknown): boolean {
  return Array.isArray(row) && row.every(isButton);
}

function isButton(button: unknown): boolean {
  if (!isObject(button) || typeof button["label"] !== "string") return false;
  const { action, url } = button;
  return typeof action === "string"
    ? url === undefined && [...action].length <= ACTION_MAX_CHARACTERS
    : typeof url === "string" && URL.canParse(url);
}
