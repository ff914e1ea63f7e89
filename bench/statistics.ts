/** Returns a quantile of the values, e.g. the median if `share` is 0.5; NaN when there are no values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** Returns the median; NaN when there are no values. */
export function median(values: readonly number[]): number {
  return quartilesOf(values)[1];
}

/** Returns the three quartiles, with linear interpolation between the values; NaN when there are no values. */
export function quartilesOf(values: readonly number[]): readonly [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const place = (sorted.length - 1) * share;
    const [below = NaN, above = NaN] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
    return below + (above - below) * (place - Math.floor(place));
  };
  return [at(0.25), at(0.5), at(0.75)];
}

/** Quantiles of values, for a table. */
export type Spread = ReturnType<typeof spreadOf>;

export function spreadOf(values: readonly number[]) {
  const [p50 = NaN, p95 = NaN, p99 = NaN, max = NaN] = [0.5, 0.95, 0.99, 1].map((share) =>
    quantile(values, share),
  );
  return { count: values.length, p50, p95, p99, max };
}

/** Returns the medians of the spreads' p50 and p99, and the ratio of these medians. */
export function middleOf(spreads: readonly Spread[]) {
  const p50 = median(spreads.map((spread) => spread.p50));
  const p99 = median(spreads.map((spread) => spread.p99));
  return { p50, p99, ratio: p99 / p50 };
}

/** Returns a line with a figure of a part, and with the minimum and maximum of `all`. */
export function spreadLine(name: string, figure: number, all: readonly number[]): string {
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return `${name}=${figure.toFixed(3)} min=${min.toFixed(3)} max=${max.toFixed(3)}`;
}
