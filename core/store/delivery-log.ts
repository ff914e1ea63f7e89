import { LOGGED_SECONDS } from "../../contract/deliveries";
import {
  isPoll,
  newestFirst,
  type Delivery,
  type LoggedDelivery,
  type LoggedEvent,
  type ResponseStart,
} from "../domain/delivery";
import { summarize } from "../domain/event-summary";
import type { DeliveryLog, LogEntryDetail } from "../ports/delivery-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { packEvent, unpackEvent } from "./packed-event";
import type { Argument } from "./redis/redis";
import { asBytes, asList, asNumber, asText } from "./redis/reply";

/**
 * Maximum age, in ms, of the deliveries that `read` returns. A log expires as a whole, so a log may contain older
 * deliveries.
 */
const KEPT_MS = LOGGED_SECONDS * 1_000;

/**
 * The stored form of a delivery: a JSON list. A list is shorter than an object, and a workspace may have a thousand
 * deliveries. The entries of older releases lack the last three elements. The functions in Lua cannot make a summary,
 * so they store the start of the event instead (see log.lua).
 */
type StoredDelivery = readonly [
  eventId: string,
  eventType: string,
  attempt: number,
  result: Delivery["result"],
  status: number,
  latencyMs: number,
  address: string,
  summary?: StoredSummary | string,
  publisher?: string,
  /** 0 for an event that never expires. */
  expiresAtMs?: number,
];
type StoredSummary = readonly [channel: string, userId: string, messageId: string, text: string];

/** Returns the result and the status (0 for none) of a stored delivery. */
export function decodeAttempt(text: string): {
  readonly result: Delivery["result"];
  readonly status: number;
} {
  const [, , , result, status] = JSON.parse(text) as StoredDelivery;
  return { result, status };
}

export function encodeDelivery(delivery: Delivery): string {
  const { eventId, eventType, attempt, result, status = 0, latencyMs, address = "", event } = delivery;
  const latency = Math.round(latencyMs);
  // This code runs for every push. In V8, joining two lists would take longer than extending one.
  const stored: StoredDelivery[number][] = [eventId, eventType, attempt, result, status, latency, address];
  if (event !== undefined) {
    const { channel, userId, messageId, text } = event.summary;
    const summary: StoredSummary = [channel, userId, messageId, text];
    stored.push(summary, event.publisher, event.expiresAtMs ?? 0);
  }
  return JSON.stringify(stored);
}

function toLoggedEvent(
  summary: StoredSummary | string | undefined,
  publisher = "",
  expiresAtMs = 0,
): LoggedEvent | undefined {
  if (summary === undefined) return undefined;
  const about = { publisher, expiresAtMs: expiresAtMs || null };
  if (typeof summary === "string") return { summary: summarize(summary), ...about };
  const [channel, userId, messageId, text] = summary;
  return { summary: { channel, userId, messageId, text }, ...about };
}

const WHOLE = "w";
const TRUNCATED = "t";

/** Returns the stored form of a response: a letter that says whether the body was truncated, and the bytes. */
export function encodeResponse(response: ResponseStart | undefined): Argument {
  if (response === undefined) return "";
  return Buffer.concat([Buffer.from(response.isTruncated ? TRUNCATED : WHOLE), response.bytes]);
}

export function decodeResponse(stored: Buffer): ResponseStart | undefined {
  if (stored.length === 0) return undefined;
  return { bytes: stored.subarray(1), isTruncated: stored.toString("latin1", 0, 1) === TRUNCATED };
}

export function decodeFailed(packed: Buffer, failedAtMs: number): NonNullable<LogEntryDetail["failed"]> {
  const { eventId, eventType, expiresAtMs, envelope } = unpackEvent(packed);
  return { eventId, eventType, failedAtMs, expiresAtMs, envelope };
}

/** Decodes an attempt or a drop. */
export function toLogged(id: string, delivery: string): LoggedDelivery {
  const stored = JSON.parse(delivery) as StoredDelivery;
  const [eventId, eventType, attempt, result, status, latencyMs, address, ...about] = stored;
  const atMs = timeOf(id);
  // Older releases logged each poll as a delivery.
  if (isPoll({ eventType })) return toPolls(id, 1, atMs, 0);
  const answer = { status: status || undefined, latencyMs, address: address || undefined };
  const event = toLoggedEvent(...about);
  return { id, atMs, eventId, eventType, attempt, result, ...answer, ...(event && { event }) };
}

/** Decodes a line that describes one or more polls. functions/log.lua writes these lines. */
export function decodePolls(line: string): LoggedDelivery {
  const [id = "", polls, lastAtMs, events] = line.split(" ");
  return toPolls(id, Number(polls), Number(lastAtMs), Number(events));
}

function toPolls(id: string, polls: number, lastAtMs: number, events: number): LoggedDelivery {
  return {
    id,
    atMs: timeOf(id),
    eventId: "",
    eventType: "poll",
    attempt: 0,
    result: "success",
    status: 200,
    latencyMs: 0,
    address: undefined,
    polled: { polls, lastAtMs, events },
  };
}

/** An id that is lower than the id of any entry. */
const FIRST_ID = "0-0";
/** Maximum number of deliveries that a watch reads in one call. */
const WATCH_MAX = 200;

/** Whether a delivery is recent enough to be shown. */
export function isKept({ atMs, polled }: LoggedDelivery, nowMs: number): boolean {
  return (polled?.lastAtMs ?? atMs) >= nowMs - KEPT_MS;
}

/** @param failedShardMaxBytes maximum bytes of the failed events of a shard */
export function createDeliveryLog(
  functions: Functions,
  keys: Keys,
  now: () => number,
  failedShardMaxBytes: number,
): DeliveryLog {
  /** Calls a library function that reads the log. Returns the logged deliveries, and the lines that describe polls. */
  async function ask(name: "read_deliveries" | "read_newer", workspaceId: string, ...args: string[]) {
    const reply = await functions.call(name, keys.prefixOf(workspaceId), [workspaceId, ...args]);
    const [entries, lines] = asList(reply).map(asList);
    const deliveries = (entries ?? []).map((entry) => {
      const [id = "", delivery = ""] = asList(entry).map(asText);
      return toLogged(id, delivery);
    });
    return { deliveries, lines: (lines ?? []).map(asText) };
  }

  return {
    async append(workspaceId, delivery, { response, failed } = {}) {
      const args = [
        workspaceId,
        encodeDelivery(delivery),
        encodeResponse(response),
        failed?.eventId ?? "",
        failed === undefined ? "" : packEvent(workspaceId, failed),
        String(failedShardMaxBytes),
      ];
      const id = asText(await functions.call("log_delivery", keys.prefixOf(workspaceId), args));
      return { ...delivery, id, atMs: id === "" ? now() : timeOf(id) };
    },
    async read(workspaceId, count, before) {
      const { deliveries, lines } = await ask("read_deliveries", workspaceId, before ?? "+", String(count));
      return [...deliveries, ...lines.map(decodePolls)]
        .filter((each) => isKept(each, now()))
        .toSorted(newestFirst)
        .slice(0, count);
    },
    async readEntry(workspaceId, id) {
      const reply = await functions.call("read_entry", keys.prefixOf(workspaceId), [workspaceId, id]);
      const [kind, entry, ...rest] = asList(reply);
      if (kind === undefined || entry === undefined) return undefined;
      const text = asText(entry);
      const isPolls = asText(kind) === "polls";
      const delivery = isPolls ? decodePolls(text) : toLogged(id, text);
      if (!isKept(delivery, now())) return undefined;
      if (isPolls) return { delivery, response: undefined, failed: undefined, held: rest.map(asBytes) };
      const [response, failedAt, packed] = rest;
      return {
        delivery,
        response: decodeResponse(asBytes(response)),
        failed: packed && failedAt ? decodeFailed(asBytes(packed), asNumber(failedAt)) : undefined,
        held: [],
      };
    },
    async watch(workspaceId) {
      const newest = await ask("read_deliveries", workspaceId, "+", "1");
      let lastId = newest.deliveries[0]?.id ?? FIRST_ID;
      let lastLine = newest.lines[0] ?? FIRST_ID;
      return async () => {
        const args = [lastId, lastLine, String(WATCH_MAX)];
        const { deliveries, lines } = await ask("read_newer", workspaceId, ...args);
        lastId = deliveries.at(-1)?.id ?? lastId;
        lastLine = lines[0] ?? lastLine;
        return [...deliveries, ...lines.map(decodePolls)].toSorted(newestFirst).toReversed();
      };
    },
  };
}

/** Returns the first part of an entry's id: the time when the entry was logged, in ms. */
function timeOf(entryId: string): number {
  return Number(entryId.slice(0, entryId.indexOf("-")));
}
