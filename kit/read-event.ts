import { CURSOR_FORM } from "../contract/forms";
import type { EventHead, EventPage, OutboundEvent } from "./events";

/** The result of reading a JSON value from a signed body as an event. */
export type EventReading =
  | { readonly event: OutboundEvent }
  /** An event of a type that this kit does not know. This is not an error: the event is skipped. */
  | { readonly unknown: EventHead }
  /** The reason why the value is not an event. */
  | { readonly fault: string };

type Fields = Readonly<Record<string, unknown>>;

/** Required fields of each event type, in addition to the fields of `EventHead`. */
const FIELDS_BY_TYPE: Readonly<Record<OutboundEvent["type"], readonly ("channel" | "user" | "message")[]>> = {
  "message.create": ["channel", "message"],
  "message.update": ["channel", "message"],
  "message.ephemeral": ["channel", "user", "message"],
  "dm.create": ["user", "message"],
  ping: [],
};

/** Reads an event. Checks only the fields that a bridge needs, because the service may add fields at any time. */
export function readEvent(value: unknown): EventReading {
  if (!isObject(value)) return { fault: "an event must be an object" };
  const isHead =
    [value["id"], value["type"], value["workspace"], value["createdAt"]].every(isText) &&
    Number.isSafeInteger(value["sequence"]) &&
    (value["expiresAt"] === null || isText(value["expiresAt"]));
  if (!isHead) return { fault: "an event must have id, type, workspace, sequence, createdAt and expiresAt" };
  const type = String(value["type"]);
  if (!isKnownType(type)) return { unknown: value as unknown as EventHead };
  for (const field of FIELDS_BY_TYPE[type]) {
    const isGood = field === "message" ? isMessage(value[field]) : isText(value[field]);
    if (!isGood) return { fault: `${type} must have ${field}` };
  }
  return { event: value as unknown as OutboundEvent };
}

/** A page with the events that the kit can read. */
export interface PageReading {
  readonly page: EventPage;
  /** The reason for each skipped event. */
  readonly leftOut: readonly string[];
}

/** Reads a signed body as a page. Returns undefined when the body is not a page. */
export function readPage(body: Uint8Array): PageReading | undefined {
  const value = readJson(body);
  if (!isObject(value) || !Array.isArray(value["events"])) return undefined;
  const { next, hasMore, gap } = value;
  if (next !== null && !(isText(next) && isCursor(next))) return undefined;
  const events: OutboundEvent[] = [];
  const leftOut: string[] = [];
  for (const each of value["events"] as unknown[]) {
    const reading = readEvent(each);
    if ("event" in reading) events.push(reading.event);
    else leftOut.push("fault" in reading ? reading.fault : `its type ${reading.unknown.type} is unknown`);
  }
  return { page: { events, next, hasMore: hasMore === true, gap: gap === true }, leftOut };
}

/** Parses JSON in UTF-8. Returns undefined when the bytes are not valid JSON or UTF-8. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns whether a string has the format of a cursor: 1 to 18 digits. */
export function isCursor(text: string): boolean {
  return CURSOR_FORM.test(text);
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isKnownType(type: string): type is OutboundEvent["type"] {
  return Object.hasOwn(FIELDS_BY_TYPE, type);
}

function isMessage(value: unknown): boolean {
  return isObject(value) && isText(value["id"]) && isText(value["kind"]) && typeof value["text"] === "string";
}
