import { DELIVERY_RESULTS, RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryFilter } from "./delivery-list";

/**
 * The part of the log that is shown. The query of the page's URL contains this view, so a shared link shows the same
 * part.
 */
export interface LogView {
  readonly filter: DeliveryFilter;
  /** Number of the page, from 1. */
  readonly page: number;
}

const RESULTS = new Set<string>([
  ...DELIVERY_RESULTS,
  ...DELIVERY_RESULTS.map((each) => RESULT_MEANINGS[each].outcome),
]);
const TEXT_MAX = 100;

/** Reads the view from a query. Invalid values count as missing. */
export function readLogView(query: URLSearchParams): LogView {
  const text = (name: string): string => (query.get(name) ?? "").slice(0, TEXT_MAX);
  const result = text("outcome");
  const page = Number(text("page"));
  return {
    filter: {
      result: RESULTS.has(result) ? (result as DeliveryFilter["result"]) : "",
      eventType: text("kind"),
      event: text("event"),
    },
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** Returns a query with the view, e.g. "?outcome=failed&page=2". The other parameters of the given query are kept. */
export function withLogView(query: URLSearchParams, { filter, page }: LogView): string {
  const changed = new URLSearchParams(query);
  const parts = {
    outcome: filter.result,
    kind: filter.eventType,
    event: filter.event,
    page: page > 1 ? String(page) : "",
  };
  for (const [name, value] of Object.entries(parts)) {
    changed.delete(name);
    if (value !== "") changed.set(name, value);
  }
  return changed.size === 0 ? "" : `?${changed}`;
}

/** Whether a filter hides anything. */
export function isFiltered({ result, eventType, event }: DeliveryFilter): boolean {
  return `${result}${eventType}${event.trim()}` !== "";
}
