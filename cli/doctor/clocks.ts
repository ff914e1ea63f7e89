import { judged, type Finding } from "./finding";

/** A time that is known only to lie between two bounds, in ms since the epoch. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Thresholds for clock differences. A small difference is not a fault, because signatures may be a few minutes old. */
const THRESHOLDS = { warnMs: 5_000, failMs: 60_000 } as const;
const NTP = {
  fix: "run NTP on both machines, e.g. systemd-timesyncd or chrony",
  page: "docs/doctor.md#clocks",
} as const;

/**
 * Returns the minimum number of milliseconds by which a clock is ahead of this machine's clock, or a negative number if
 * the clock is behind. Returns 0 if the clocks may agree.
 *
 * @param theirs the time that the other clock showed
 * @param ours the time that this machine's clock showed at the same moment
 */
export function leastSkewMs(theirs: Span, ours: Span): number {
  if (theirs.fromMs > ours.toMs) return theirs.fromMs - ours.toMs;
  return theirs.toMs < ours.fromMs ? theirs.toMs - ours.fromMs : 0;
}

/**
 * Judges a clock. `whose` names the owner of the clock, and `other` the owner of the clock with which it is compared.
 */
export function judgeClock(check: string, whose: string, skewMs: number, other = "this machine"): Finding {
  const away = Math.abs(skewMs);
  const how = skewMs > 0 ? "ahead of" : "behind";
  if (away <= THRESHOLDS.warnMs) {
    return judged(check, "ok", `the clock of ${whose} agrees with that of ${other}`, NTP);
  }
  const seconds = Math.round(away / 1_000);
  const says = `the clock of ${whose} is ${seconds} seconds ${how} that of ${other}`;
  return judged(check, away > THRESHOLDS.failMs ? "fail" : "warn", says, NTP);
}
