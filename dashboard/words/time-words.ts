/** The time zone in which times are shown: the browser's zone, or UTC. */
export type TimesIn = "local" | "utc";

let timesIn: TimesIn = "local";

/** Sets the time zone in which the functions of this module write times. */
export function writeTimesIn(zone: TimesIn): void {
  timesIn = zone;
}

/** Returns the time zone in which the functions of this module write times. */
export function writtenTimesIn(): TimesIn {
  return timesIn;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** All times on the pages have this format regardless of the browser's language, because the pages are in English. */
const formatsOf = (form: Intl.DateTimeFormatOptions): Readonly<Record<TimesIn, Intl.DateTimeFormat>> => ({
  local: new Intl.DateTimeFormat("en-GB", { ...form, hourCycle: "h23" }),
  utc: new Intl.DateTimeFormat("en-GB", { ...form, hourCycle: "h23", timeZone: "UTC" }),
});
const DAY = { day: "numeric", month: "short" } as const;
const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
const EXACT_CLOCK = { ...CLOCK, second: "2-digit" } as const;
const FORMATS = {
  /** "14:05" */
  clock: formatsOf(CLOCK),
  /** "14:05:09" */
  exactClock: formatsOf(EXACT_CLOCK),
  /** "14:05:09.123" */
  msClock: formatsOf({ ...EXACT_CLOCK, fractionalSecondDigits: 3 }),
  /** "22 Nov, 14:05:09.123" */
  dayAndMsClock: formatsOf({ ...DAY, ...EXACT_CLOCK, fractionalSecondDigits: 3 }),
  /** "22 Nov, 14:05:09" */
  dayAndExactClock: formatsOf({ ...DAY, ...EXACT_CLOCK }),
  /** "22 Nov 2026, 14:05" */
  date: formatsOf({ ...DAY, year: "numeric", ...CLOCK }),
  /** "22 Nov 2026" */
  day: formatsOf({ ...DAY, year: "numeric" }),
};

/** Returns a time in the chosen time zone, in 24-hour format. */
export function localTime(at: Date | number, form: keyof typeof FORMATS): string {
  return FORMATS[form][timesIn].format(at);
}

/** Returns the time of day with seconds, and the day unless it is the day of `nowMs`: "22 Nov, 14:05:09". */
export function exactTime(at: string, nowMs: number): string {
  return localTime(new Date(at), isSameDay(at, nowMs) ? "exactClock" : "dayAndExactClock");
}

/** Returns the same as `exactTime`, with milliseconds: "22 Nov, 14:05:09.123". */
export function msTime(at: string, nowMs: number): string {
  return localTime(new Date(at), isSameDay(at, nowMs) ? "msClock" : "dayAndMsClock");
}

function isSameDay(at: string, nowMs: number): boolean {
  return localTime(new Date(at), "day") === localTime(nowMs, "day");
}

/** Returns how far a time is from `nowMs`, in the largest unit that fits: "just now", "3 min ago", "in 2 h". */
export function fromNow(atMs: number, nowMs: number): string {
  const far = Math.abs(nowMs - atMs);
  if (far < 2 * SECOND_MS) return "just now";
  const words = duration(far);
  return atMs <= nowMs ? `${words} ago` : `in ${words}`;
}

/** Returns a duration in the largest unit that fits: "45 s", "3 min", "2 h", "5 days". */
export function duration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  const days = Math.floor(ms / DAY_MS);
  return `${days} ${days === 1 ? "day" : "days"}`;
}

/** Returns the exact time in UTC, for comparison with logs. */
export function exactUtc(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11).replace("Z", "")} UTC`;
}
