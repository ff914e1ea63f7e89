import { collectDefaultMetrics, Registry, type Metric } from "prom-client";
import { BUILD } from "./version";

/** One value of a metric. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Returns the current value of a metric, or one sample for each set of labels. Returns undefined or no samples
 * while the value is unknown.
 */
export type Read = () => number | undefined | Iterable<Sample>;

/** Adds values to the buckets of a histogram. */
export interface Observer {
  observe(value: number): void;
}

/**
 * The metrics of a process, in the format of Prometheus. The code counts in plain variables, which are read only when
 * Prometheus scrapes the process. Counting therefore costs one addition.
 */
export interface Metrics {
  readonly contentType: string;
  counter(name: string, help: string, read: Read): void;
  gauge(name: string, help: string, read: Read): void;
  /** @param bounds upper bounds of the buckets, ascending */
  histogram(name: string, help: string, bounds: readonly number[]): Observer;
  /**
   * Adds a histogram for each value of a label. Returns a function that maps a value of the label to its histogram. The
   * histograms for `values` exist from the start.
   */
  histograms(
    name: string,
    help: string,
    bounds: readonly number[],
    label: string,
    values?: readonly string[],
  ): (value: string) => Observer;
  /** Calls `prepare` before each scrape, and waits until `prepare` is done. Rejections are ignored. */
  beforeReading(prepare: () => Promise<void>): void;
  text(): Promise<string>;
}

/** Upper bounds of the buckets for durations, in seconds. They range from a call on the same machine to a timeout. */
export const SECONDS_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Upper bounds of the buckets for batch sizes. */
export const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128];

type Type = "counter" | "gauge" | "histogram";
type NamedSample = Sample & { readonly metricName?: string };

/** Creates the metrics of a process, including those of Node.js and the operating system. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const preparations: (() => Promise<void>)[] = [];
  collectDefaultMetrics({ register: registry });

  function add(name: string, help: string, type: Type, samples: () => readonly NamedSample[]): void {
    const get = async () => ({ name, help, type, aggregator: "sum", values: samples() });
    // The registry uses only these fields of a metric. prom-client's own metrics (`new Counter`) are not used: they are
    // slower, because they hash their labels on every increment.
    registry.registerMetric({ name, help, get, reset: () => undefined } as unknown as Metric);
  }

  function histograms(
    name: string,
    help: string,
    bounds: readonly number[],
    label?: string,
    values: readonly string[] = [],
  ): (value: string) => Observer {
    const byValue = new Map<string, Buckets>();
    const of = (value: string): Buckets => {
      const known = byValue.get(value) ?? createBuckets(bounds);
      byValue.set(value, known);
      return known;
    };
    for (const value of values) of(value);
    add(name, help, "histogram", () =>
      [...byValue].flatMap(([value, buckets]) =>
        buckets.samples(name, label === undefined ? {} : { [label]: value }),
      ),
    );
    return of;
  }

  const gauge: Metrics["gauge"] = (name, help, read) => add(name, help, "gauge", () => toSamples(read()));
  const build = { labels: { ...BUILD, node: process.versions.node }, value: 1 };
  gauge("chatbridge_build_info", "Always 1; the labels name the build that the process runs.", () => [build]);

  return {
    contentType: registry.contentType,
    counter: (name, help, read) => add(name, help, "counter", () => toSamples(read())),
    gauge,
    histogram: (name, help, bounds) => histograms(name, help, bounds, undefined, [""])(""),
    histograms,
    beforeReading: (prepare) => void preparations.push(prepare),
    async text() {
      await Promise.allSettled(preparations.map((prepare) => prepare()));
      return registry.metrics();
    },
  };
}

/** Returns one sample for each count, with the count's name as the value of `label`. */
export function byLabel(label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

/** Returns an object with the count 0 for each name. */
export function countsOf<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}

function toSamples(read: ReturnType<Read>): readonly Sample[] {
  if (read === undefined) return [];
  return typeof read === "number" ? [{ value: read }] : [...read];
}

interface Buckets extends Observer {
  samples(name: string, labels: Readonly<Record<string, string>>): readonly NamedSample[];
}

function createBuckets(bounds: readonly number[]): Buckets {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    observe(value) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? Infinity)) at++;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
    samples(name, labels) {
      let count = 0;
      const buckets = counts.map((here, at) => {
        count += here;
        return {
          metricName: `${name}_bucket`,
          labels: { ...labels, le: String(bounds[at] ?? "+Inf") },
          value: count,
        };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    },
  };
}
