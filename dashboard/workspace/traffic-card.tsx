import type { DeliveryShape, Mode } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { Instant } from "../parts/instant";
import { Loading } from "../parts/loading";
import { oldestKept } from "../words/delivery-list";
import { COUNTED, minuteBuckets, type Counted } from "../words/minute-buckets";
import { Chart, type ChartSeries } from "./chart";

export interface TrafficCardProps {
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly mode: Mode;
}

const HOUR_MS = 60 * 60 * 1_000;
const DRAW_EVERY_MS = 1_000;

const LABELS: Readonly<Record<Counted, string>> = {
  success: "Accepted pushes",
  failed: "Failed attempts",
  dropped: "Dropped pushes",
  polls: "Polls",
};
/** For each mode, the series that the chart always shows. Other series are shown only if they are not empty. */
const OF_MODE: Readonly<Record<Mode, readonly Counted[]>> = {
  push: ["success", "failed", "dropped"],
  poll: ["polls"],
  none: [],
};
const COLOURS: Readonly<Record<Counted, string>> = {
  success: "--good",
  failed: "--bad",
  dropped: "--warn",
  polls: "--polls",
};
const LATENCIES: readonly ChartSeries[] = [
  { label: "Slowest", colour: "--quiet-line", kind: "points" },
  { label: "Median", colour: "--accent", kind: "line" },
];

/** Shows the last hour by minute: polls, the outcomes of pushes, and the latency of accepted pushes. */
export function TrafficCard({ deliveries, mode }: TrafficCardProps) {
  const now = Math.floor(useNow() / DRAW_EVERY_MS) * DRAW_EVERY_MS;
  if (deliveries === undefined) {
    return (
      <section class="card">
        <h2>The last hour</h2>
        <Loading what="Loading deliveries" />
      </section>
    );
  }
  const buckets = minuteBuckets(deliveries, now);
  const total = (each: Counted) => buckets[each].reduce((sum, count) => sum + count, 0);
  const shown = COUNTED.filter((each) => OF_MODE[mode].includes(each) || total(each) > 0);
  const figures = shown.map((each) => `${LABELS[each]}: ${total(each)}`).join(", ");
  const oldest = oldestKept(deliveries);
  return (
    <section class="card traffic" aria-labelledby="traffic-title">
      <div class="card-heading">
        <h2 id="traffic-title">The last hour</h2>
        <ul class="legend">
          {shown.map((each) => (
            <li key={each}>
              <span class={`swatch swatch-${each}`} aria-hidden="true" /> {LABELS[each]}{" "}
              <strong>{total(each).toLocaleString("en")}</strong>
            </li>
          ))}
        </ul>
      </div>
      <Chart
        label={`Deliveries per minute in the last hour. ${figures}.`}
        minutes={buckets.minutes}
        // The bars are stacked: the tallest bar is drawn first, and the shorter bars are drawn over it.
        series={shown.toReversed().map((each) => ({
          label: LABELS[each],
          colour: COLOURS[each],
          kind: "bars",
        }))}
        values={shown.map((_, i) => sums(shown.slice(0, shown.length - i).map((each) => buckets[each])))}
        unit=""
        height={150}
        reading={(minute) => shown.map((each) => `${LABELS[each]} ${buckets[each][minute] ?? 0}`).join(", ")}
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
            label="Latency per minute in the last hour, in ms; the figures are under Health."
            minutes={buckets.minutes}
            series={LATENCIES}
            values={[buckets.slowest, buckets.median]}
            unit=" ms"
            height={130}
            reading={(minute) => {
              const [median, slowest] = [buckets.median[minute], buckets.slowest[minute]];
              return median == null ? "none" : `Median ${median} ms, slowest ${slowest} ms`;
            }}
          />
        </>
      )}
      {shown.every((each) => total(each) === 0) && (
        <p class="hint">There were no deliveries in the last hour.</p>
      )}
      {oldest !== undefined && Date.parse(oldest.at) > now - HOUR_MS && (
        <p class="hint">
          The log no longer has older {oldest.polls > 0 ? "polls" : "pushes"}: the chart is complete only from{" "}
          <Instant at={oldest.at} as="time" /> on.
        </p>
      )}
    </section>
  );
}

function sums(lists: readonly (readonly number[])[]): readonly number[] {
  return (lists[0] ?? []).map((_, i) => lists.reduce((sum, list) => sum + (list[i] ?? 0), 0));
}
