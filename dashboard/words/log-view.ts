import { DELIVERY_RESULTS, RESULT_MEANINGS } from "../../contract/deliveries";
import { ALL_DELIVERIES, type DeliveryFilter } from "./log-filter";

/**
 * The part of the log that is shown. The query of the page's URL contains the filters and the page number, so a shared
 * link shows the same part.
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
/** Maximum number of open rows in the URL. */
const OPEN_MAX = 10;

/** The query parameter of each filter. */
const NAMES: Readonly<Record<keyof DeliveryFilter, string>> = {
  result: "outcome",
  eventType: "kind",
  event: "event",
  channel: "channel",
  message: "message",
  text: "text",
  from: "from",
  to: "to",
};
const FILTERS = Object.keys(NAMES) as readonly (keyof DeliveryFilter)[];

/** Reads the view from a query. Invalid values count as missing. */
export function readLogView(query: URLSearchParams): LogView {
  const text = (name: string): string => (query.get(name) ?? "").slice(0, TEXT_MAX);
  const filter = Object.fromEntries(FILTERS.map((each) => [each, text(NAMES[each])]));
  const page = Number(text("page"));
  return {
    filter: {
      ...ALL_DELIVERIES,
      ...filter,
      result: RESULTS.has(text("outcome")) ? (text("outcome") as DeliveryFilter["result"]) : "",
      from: readTime(text("from")),
      to: readTime(text("to")),
    },
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** Returns a query with the view: "?outcome=failed&page=2". The other parameters of the given query are kept. */
export function withLogView(query: URLSearchParams, { filter, page }: LogView): string {
  const changed = new URLSearchParams(query);
  const parts = [
    ...FILTERS.map((each) => [NAMES[each], filter[each]] as const),
    ["page", page > 1 ? String(page) : ""] as const,
  ];
  for (const [name, value] of parts) {
    changed.delete(name);
    if (value !== "") changed.set(name, value);
  }
  return changed.size === 0 ? "" : `?${changed}`;
}

/** Reads the names of the open rows from a query. */
export function readOpenRows(query: URLSearchParams): ReadonlySet<string> {
  const names = query.getAll("open").map((each) => each.slice(0, TEXT_MAX));
  return new Set(names.filter((each) => each !== "").slice(-OPEN_MAX));
}

/** Returns a query with the names of the open rows. The other parameters of the given query are kept. */
export function withOpenRows(query: URLSearchParams, open: ReadonlySet<string>): URLSearchParams {
  const changed = new URLSearchParams(query);
  changed.delete("open");
  for (const name of [...open].slice(-OPEN_MAX)) changed.append("open", name);
  return changed;
}

function readTime(text: string): string {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}
