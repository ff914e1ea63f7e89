import { TIMESTAMP_TOLERANCE_SECONDS } from "./numbers";

const MILLISECOND_DIGITS = 13;
const HOUR_SECONDS = 3_600;
/**
 * The units for a time difference, shortest first. `most` is the number of seconds above which the next unit is used.
 */
const UNITS = [
  { name: "seconds", seconds: 1, most: 119 },
  { name: "minutes", seconds: 60, most: 3 * HOUR_SECONDS },
  { name: "hours", seconds: HOUR_SECONDS, most: 72 * HOUR_SECONDS },
  { name: "days", seconds: 24 * HOUR_SECONDS, most: 10_000 * 24 * HOUR_SECONDS },
] as const;

/**
 * Returns why a signed timestamp is stale, for an error message: the timestamp has the wrong unit, or is behind or
 * ahead of a clock.
 *
 * @param timestamp the digits of `t`
 * @param nowMs the clock's time, ms since the epoch
 * @param clock the name of the clock, such as "the service's clock"
 */
export function staleTimestamp(timestamp: string, nowMs: number, clock: string): string {
  const digits = timestamp.replace(/^0+/, "");
  if (digits.length === MILLISECOND_DIGITS) {
    return "the signed timestamp has 13 digits, so it is in milliseconds: sign with Unix seconds, which have 10 digits";
  }
  const aheadSeconds = Number(digits) - nowMs / 1000;
  const side = aheadSeconds > 0 ? "ahead of" : "behind";
  const time = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const most = `at most ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes are allowed`;
  return `the signed timestamp is ${durationOf(Math.abs(aheadSeconds))} ${side} ${clock}, which says ${time}; ${most}`;
}

/** Returns a time difference in words, rounded to a suitable unit. */
export function durationOf(seconds: number): string {
  const unit = UNITS.find(({ most }) => seconds <= most);
  if (unit === undefined) return "many years";
  const count = unit.seconds === 1 ? Math.ceil(seconds) : Math.round(seconds / unit.seconds);
  // A difference of 310 seconds exceeds the limit, so the message must not say 5 minutes.
  const isRoundedToLimit =
    seconds > TIMESTAMP_TOLERANCE_SECONDS && count * unit.seconds <= TIMESTAMP_TOLERANCE_SECONDS;
  if (isRoundedToLimit) return `more than ${count} ${unit.name}`;
  return `${count} ${unit.name}`;
}
