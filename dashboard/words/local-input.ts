import { writtenTimesIn } from "./time-words";

const MINUTE_MS = 60_000;
const SECONDS_LENGTH = "2026-01-31T00:00:00".length;

/**
 * Returns a time as the value of an input of the type `datetime-local`: the time in the chosen time zone, without an
 * offset.
 */
export function toLocalInput(at: string): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return "";
  const offsetMs = writtenTimesIn() === "utc" ? 0 : new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(ms - offsetMs).toISOString().slice(0, SECONDS_LENGTH);
}

/**
 * Returns the time that a user entered in an input of the type `datetime-local`, as ISO 8601 in UTC; empty if the input
 * is empty.
 */
export function fromLocalInput(value: string): string {
  const ms = Date.parse(writtenTimesIn() === "utc" ? `${value}Z` : value);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}
