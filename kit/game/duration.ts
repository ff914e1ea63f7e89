/** Milliseconds, or a number with a unit, e.g. `"500 ms"`, `"20 s"`, `"1.5 m"`, `"2 h"` or `"7 d"`. */
export type Duration = number | `${number} ${keyof typeof UNITS}` | `${number}${keyof typeof UNITS}`;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns a duration in ms. Throws RangeError for anything but a positive number of ms, or a positive number with a unit. */
export function millisecondsOf(duration: Duration): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  const ms =
    typeof duration === "number" ? duration : Number(number) * UNITS[(unit ?? "ms") as keyof typeof UNITS];
  if (ms > 0 && Number.isFinite(ms)) return Math.ceil(ms);
  throw new RangeError(
    `a duration is a positive number of milliseconds, or a text such as "20 s": ${String(duration)}`,
  );
}
