/** Returns a quantile of the values, e.g. the median if `share` is 0.5; NaN when there are no values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** Quantiles of values, for a table. */
export type Spread = ReturnType<typeof spreadOf>;

export function spreadOf(values: readonly number[]) {
  const [p50 = NaN, p95 = NaN, p99 = NaN, max = NaN] = [0.5, 0.95, 0.99, 1].map((share) =>
    quantile(values, share),
  );
  return { count: values.length, p50, p95, p99, max };
}
