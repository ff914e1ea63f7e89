import { createStore } from "./store";
import { writeTimesIn, type TimesIn } from "./words/time-words";

const KEY = "times";

function readTimesIn(): TimesIn {
  try {
    return localStorage.getItem(KEY) === "utc" ? "utc" : "local";
  } catch {
    return "local";
  }
}

/** The time zone in which all pages show times: the browser's zone, or UTC. */
export const timesIn = createStore<TimesIn>(readTimesIn());
writeTimesIn(timesIn.get());

export function showTimesIn(zone: TimesIn): void {
  try {
    if (zone === "local") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, zone);
  } catch {
    // Storage is blocked, so the choice lasts until the page is closed.
  }
  writeTimesIn(zone);
  timesIn.set(zone);
}

/** Returns the name of the browser's time zone, such as "Europe/Lisbon". */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the offset of the browser's time zone from UTC at a time: "UTC+1", or "UTC". */
export function localOffset(at: Date): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" }).formatToParts(at);
  return parts.find(({ type }) => type === "timeZoneName")?.value.replace("GMT", "UTC") ?? "";
}
