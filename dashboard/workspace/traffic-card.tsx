import type { DeliveryShape, Mode } from "../../edge/dashboard/shapes";
import { useNow } from "../clock";
import { Instant } from "../parts/instant";
import { Loading } from "../parts/loading";
import { LOGGED_MAX } from "../words/delivery-list";
import { minuteBuckets } from "../words/minute-buckets";
import { Chart, type ChartSeries } from "./chart";

export interface TrafficCardProps {
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly mode: Mode;
}

const HOUR_MS = 60 * 60 * 1_000;
const DRAW_EVERY_MS = 1_000;

const OUTCOMES = [
  { key: "success", colour: "--good" },
  { key: "failed", colour: "--bad" },
  { key: "dropped", colour: "--warn" },
] as const;
const LATENCIES: readonly ChartSeries[] = [
  { label: "Slowest", colour: "--quiet-line", kind: "points" },
  { label: "Median", colour: "--accent", kind: "line" },
];

/** The last hour by the minute: what came of deliveries, and how long the bridge took. */
export function TrafficCard({ deliveries, mode }: TrafficCardProps) {
  const now = Math.floor(useNow() / DRAW_EVERY_MS) * DRAW_EVERY_MS;
  const accepted = mode === "poll" ? "Polls" : "Accepted";
  const labels = { success: accepted, failed: "Failed", dropped: "Given up" };
  if (deliveries === undefined) {
    return (
      <section class="card">
        <h2>The last hour</h2>
        <Loading what="Loading deliveries" />
      </section>
    );
  }
  const buckets = minuteBuckets(deliveries, now);
  const total = (each: keyof typeof labels) => buckets[each].reduce((sum, count) => sum + count, 0);
  const figures = OUTCOMES.map(({ key }) => `${labels[key]}: ${total(key)}`).join(", ");
  const oldest = deliveries.at(-1);
  const isCut =
    oldest !== undefined && deliveries.length >= LOGGED_MAX && Date.parse(oldest.at) > now - HOUR_MS;
  return (
    <section class="card traffic" aria-labelledby="traffic-title">
      <div class="card-heading">
        <h2 id="traffic-title">The last hour</h2>
        <ul class="legend">
          {OUTCOMES.map(({ key }) => (
            <li key={key}>
              <span class={`swatch swatch-${key}`} aria-hidden="true" /> {labels[key]}{" "}
              <strong>{total(key)}</strong>
            </li>
          ))}
        </ul>
      </div>
      <Chart
        label={`Deliveries a minute over the last hour. ${figures}.`}
        minutes={buckets.minutes}
        // Drawn from the tallest to the smallest, each over the one before.
        series={OUTCOMES.toReversed().map(({ key, colour }) => ({
          label: labels[key],
          colour,
          kind: "bars",
        }))}
        values={[
          sums(buckets.success, buckets.failed, buckets.dropped),
          sums(buckets.success, buckets.failed),
          buckets.success,
        ]}
        unit=""
        height={150}
      />
      {mode === "push" && (
        <>
          <div class="card-heading">
            <h3>Latency of accepted pushes</h3>
            <ul class="legend">
              <li>
                <span class="swatch swatch-median" aria-hidden="true" /> Median
              </li>
              <li>
                <span class="swatch swatch-slowest" aria-hidden="true" /> Slowest
              </li>
            </ul>
          </div>
          <Chart
            label="Latency a minute over the last hour, in ms; the figures are under Health."
            minutes={buckets.minutes}
            series={LATENCIES}
            values={[buckets.slowest, buckets.median]}
            unit=" ms"
            height={130}
          />
        </>
      )}
      {OUTCOMES.every(({ key }) => total(key) === 0) && (
        <p class="hint">Nothing was delivered in the last hour.</p>
      )}
      {isCut && (
        <p class="hint">
          The log keeps the last {LOGGED_MAX.toLocaleString()} deliveries: the chart begins at{" "}
          <Instant at={oldest.at} as="time" />.
        </p>
      )}
    </section>
  );
}

function sums(...lists: readonly (readonly number[])[]): readonly number[] {
  return (lists[0] ?? []).map((_, i) => lists.reduce((sum, list) => sum + (list[i] ?? 0), 0));
}
