const STEPS = [1, 10, 100, 1_000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]);
/** The minimum value at the top of the axis, so that a single delivery is not as tall as the chart. */
const TOP_MIN = 4;
const INTERVALS_MAX = 4;

/** Returns the whole numbers to show on an axis from 0 to at least `max`: three to five numbers at even distances. */
export function axisSteps(max: number): readonly number[] {
  const top = Math.max(max, TOP_MIN);
  const step = STEPS.find((each) => each * INTERVALS_MAX >= top) ?? Math.ceil(top / INTERVALS_MAX);
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, i) => i * step);
}
