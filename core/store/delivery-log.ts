import type { Delivery } from "../domain/delivery";
import type { DeliveryLog } from "../ports/delivery-log";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asText } from "./reply";

/** Deliveries may be a little older than this in the store, which trims by whole nodes. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** A delivery as it is stored: a JSON list, as there may be a thousand of each workspace. */
type StoredDelivery = readonly [
  eventId: string,
  eventType: string,
  attempt: number,
  result: Delivery["result"],
  status: number,
  latencyMs: number,
  address: string,
];

export function encodeDelivery(delivery: Delivery): string {
  const { eventId, eventType, attempt, result, status = 0, latencyMs, address = "" } = delivery;
  const stored: StoredDelivery = [
    eventId,
    eventType,
    attempt,
    result,
    status,
    Math.round(latencyMs),
    address,
  ];
  return JSON.stringify(stored);
}

function decodeDelivery(text: string): Delivery {
  const [eventId, eventType, attempt, result, status, latencyMs, address] = JSON.parse(
    text,
  ) as StoredDelivery;
  return {
    eventId,
    eventType,
    attempt,
    result,
    latencyMs,
    status: status === 0 ? undefined : status,
    address: address === "" ? undefined : address,
  };
}

export function createDeliveryLog(functions: Functions, keys: Keys, now: () => number): DeliveryLog {
  const prefixOf = (workspaceId: string): string => keys.prefix(keys.shard(workspaceId));
  return {
    async append(workspaceId, delivery) {
      const args = [workspaceId, encodeDelivery(delivery)];
      const id = asText(await functions.call("log_delivery", prefixOf(workspaceId), args));
      return { ...delivery, id, atMs: timeOf(id) ?? now() };
    },
    async read(workspaceId, count, before) {
      const args = [workspaceId, before ?? "+", String(count), String(now() - KEPT_MS)];
      const entries = asList(await functions.call("read_deliveries", prefixOf(workspaceId), args));
      return entries.map((entry) => {
        const [entryId, delivery] = asList(entry).map(asText);
        const id = entryId ?? "";
        return { ...decodeDelivery(delivery ?? ""), id, atMs: timeOf(id) ?? 0 };
      });
    },
  };
}

/** When an entry was logged, ms: its id begins with it. */
function timeOf(entryId: string): number | undefined {
  return entryId === "" ? undefined : Number(entryId.slice(0, entryId.indexOf("-")));
}
