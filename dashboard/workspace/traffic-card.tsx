import type { DeliveryShape, Mode } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { Instant } from "../parts/instant";
import { Loading } from "../parts/loading";
import { axisSteps } from "../words/axis-steps";
import { countOf, oldestKept } from "../words/delivery-list";
import { minuteBuckets, type MinuteBuckets } from "../words/minute-buckets";
import { Chart, type ChartSeries } from "./chart";

export interface TrafficCardProps {
  readonly deliveries: readonly DeliveryShape[] | undefined;
  readonly mode: Mode;
  /** Whether the card is as wide as the page. */
  readonly isWide: boolean;
  /** Called when the user chooses a minute of the chart, with the start of the minute in ms since the epoch. */
  onMinute?(startMs: number): void;
}

const HOUR_MS = 60 * 60 * 1_000;
const DRAW_EVERY_MS = 1_000;

/** The series of the chart. The bars of the series in `STACKED` are stacked; `silent` is a band behind the bars. */
const STACKED = ["success", "failed", "dropped", "fetched"] as const;
type Stacked = (typeof STACKED)[number];
type Series = Stacked | "silent";

const LABELS: Readonly<Record<Series, string>> = {
  success: "Accepted pushes",
  failed: "Failed attempts",
  dropped: "Dropped pushes",
  fetched: "Events fetched",
  silent: "Minutes without polls",
};
/** For each mode, the series that the chart always shows. Other series are shown only if they are not empty. */
const OF_MODE: Readonly<Record<Mode, readonly Series[]>> = {
  push: ["success", "failed", "dropped"],
  poll: ["fetched", "silent"],
  none: [],
};
const COLOURS: Readonly<Record<Series, string>> = {
  success: "--good",
  failed: "--bad",
  dropped: "--warn",
  fetched: "--polls",
  silent: "--warn-wash",
};
const LATENCIES: readonly ChartSeries[] = [
  { label: "Slowest", colour: "--quiet-line", kind: "points" },
  { label: "Median", colour: "--accent", kind: "line" },
];

/**
 * Shows the last hour by minute: outcomes of pushes, latencies of accepted pushes, events fetched by polls, and minutes
 * without an expected poll. If there is nothing to draw, the card shows one sentence.
 */
export function TrafficCard({ deliveries, mode, isWide, onMinute }: TrafficCardProps) {
  const now = Math.floor(useNow() / DRAW_EVERY_MS) * DRAW_EVERY_MS;
  const buckets = deliveries && minuteBuckets(deliveries, now);
  const oldest = oldestKept(deliveries ?? []);
  return (
    <section class={`card traffic${isWide ? " is-wide" : ""}`} aria-labelledby="traffic-title">
      {buckets === undefined ? (
        <>
          <h2 id="traffic-title">The last hour</h2>
          <Loading what="Loading deliveries" />
        </>
      ) : (
        <Counts buckets={buckets} mode={mode} onMinute={onMinute} />
      )}
      {buckets?.median.some((each) => each !== null) === true && (
        <Latency buckets={buckets} onMinute={onMinute} />
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

interface ChartPart {
  readonly buckets: MinuteBuckets;
  readonly onMinute: ((startMs: number) => void) | undefined;
}

function Counts({ buckets, mode, onMinute }: ChartPart & { readonly mode: Mode }) {
  const silent = mode === "poll" ? buckets.silent.map(Number) : buckets.silent.map(() => 0);
  const counts: Readonly<Record<Series, readonly number[]>> = { ...buckets, silent };
  const total = (each: Series) => sum(counts[each]);
  const polls = sum(buckets.polls);
  if ([...STACKED, "silent" as const].every((each) => total(each) === 0)) {
    return (
      <>
        <h2 id="traffic-title">The last hour</h2>
        <p class="empty-line">{nothingWords(mode, polls)}</p>
      </>
    );
  }
  const shown = STACKED.filter((each) => OF_MODE[mode].includes(each) || total(each) > 0);
  const withSilent: readonly Series[] = mode === "poll" ? [...shown, "silent"] : shown;
  const pollFigure = polls > 0 ? [`Polls: ${polls}`] : [];
  const figures = [...withSilent.map((each) => `${LABELS[each]}: ${total(each)}`), ...pollFigure].join(", ");
  const stacks = shown.map((_, i) => sums(shown.slice(0, shown.length - i).map((each) => counts[each])));
  const top = axisSteps(Math.max(0, ...stacks.flat())).at(-1) ?? 1;
  return (
    <>
      <div class="card-heading">
        <h2 id="traffic-title">The last hour</h2>
        <ul class="legend">
          {withSilent.map((each) => (
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
        series={[
          { label: LABELS.silent, colour: COLOURS.silent, kind: "band" },
          ...shown
            .toReversed()
            .map((each) => ({ label: LABELS[each], colour: COLOURS[each], kind: "bars" }) as const),
        ]}
        values={[silent.map((each) => each * top), ...stacks]}
        unit=""
        height={116}
        reading={(minute) =>
          [
            ...shown.map((each) => `${LABELS[each]} ${counts[each][minute] ?? 0}`),
            ...(silent[minute] === 1 ? ["no polls"] : []),
          ].join(", ")
        }
        onMinute={onMinute}
      />
    </>
  );
}

function Latency({ buckets, onMinute }: ChartPart) {
  return (
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
        height={92}
        reading={(minute) => {
          const [median, slowest] = [buckets.median[minute], buckets.slowest[minute]];
          return median == null ? "none" : `Median ${median} ms, slowest ${slowest} ms`;
        }}
        onMinute={onMinute}
      />
    </>
  );
}

/** Returns the sentence that the card shows if there is nothing to draw. */
function nothingWords(mode: Mode, polls: number): string {
  if (polls > 0) return `The bridge polled (${countOf(polls, "poll")}), and no events were waiting.`;
  return mode === "poll" ? "The bridge did not poll." : "No pushes were attempted.";
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

function sums(lists: readonly (readonly number[])[]): readonly number[] {
  return (lists[0] ?? []).map((_, i) => sum(lists.map((list) => list[i] ?? 0)));
}
