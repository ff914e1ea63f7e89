import type { PeriodShape } from "../../proto/json/shapes";
import { barsOf, hourWords } from "../words/list-words";

const HEIGHT = 24;
const STEP = 7;
const BAR = 5;
/** The minimum height of a bar, so that a few failures among many requests stay visible. */
const LEAST = 3;

/** A small chart of the requests of the last hour, and the same figures in words for screen readers. */
export function HourChart({
  periods,
  now,
}: {
  readonly periods: readonly PeriodShape[];
  readonly now: number;
}) {
  const bars = barsOf(periods, now);
  const most = Math.max(1, ...bars.map(({ good, bad }) => good + bad));
  const words = `In the last hour: ${hourWords(periods)}`;
  return (
    <span class="hour" title={words}>
      <svg
        class="hour-chart"
        viewBox={`0 0 ${bars.length * STEP - (STEP - BAR)} ${HEIGHT}`}
        aria-hidden="true"
        focusable="false"
      >
        {bars.map(({ good, bad }, i) => {
          const [x, low, high] = [i * STEP, heightOf(bad, most), heightOf(good, most)];
          const isEmpty = good + bad === 0;
          const rest = Math.max(0, Math.min(high, HEIGHT - low));
          return (
            <g key={i}>
              {isEmpty && <rect class="hour-none" x={x} y={HEIGHT - 1} width={BAR} height={1} />}
              {bad > 0 && <rect class="hour-bad" x={x} y={HEIGHT - low} width={BAR} height={low} />}
              {good > 0 && <rect class="hour-good" x={x} y={HEIGHT - low - rest} width={BAR} height={rest} />}
            </g>
          );
        })}
      </svg>
      <span class="unseen">{words}</span>
    </span>
  );
}

function heightOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(LEAST, Math.round((count / most) * HEIGHT));
}
