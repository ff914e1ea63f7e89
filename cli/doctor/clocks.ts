import { judged, type Finding } from "./finding";

/** A time of which only the bounds are known, in ms since the epoch. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Bridges sign with their own clock, so a small difference is no fault. */
const THRESHOLDS = { warnMs: 5_000, failMs: 60_000 } as const;
const NTP = {
  fix: "run NTP on both machines, e.g. systemd-timesyncd or chrony",
  page: "docs/doctor.md#clocks",
} as const;

/**
 * Returns the least time by which a clock is ahead of this machine's clock; negative if it is behind. The result is 0
 * when the clocks may agree.
 *
 * @param theirs what the other clock can have shown
 * @param ours what this machine's clock can have shown at the same moment
 */
export function leastSkewMs(theirs: Span, ours: Span): number {
  if (theirs.fromMs > ours.toMs) return theirs.fromMs - ours.toMs;
  return theirs.toMs < ours.fromMs ? theirs.toMs - ours.fromMs : 0;
}

/** Judges a clock. `whose` completes "the clock of …", and `other` "… of the clock of …". */
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
