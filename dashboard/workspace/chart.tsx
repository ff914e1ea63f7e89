import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { onColours } from "../theme";
import { timesIn } from "../time-zone";
import { axisSteps } from "../words/axis-steps";
import { localTime } from "../words/time-words";

export interface ChartSeries {
  readonly label: string;
  /** A colour variable of the stylesheet, such as "--good". */
  readonly colour: string;
  /** A `band` is a background behind the bars, which fills whole minutes. */
  readonly kind: "bars" | "band" | "line" | "points";
}

export interface ChartProps {
  /** Description for screen readers. */
  readonly label: string;
  /** Start of each minute, in seconds since the epoch. */
  readonly minutes: readonly number[];
  readonly series: readonly ChartSeries[];
  /** One list for each series, with one value for each minute. */
  readonly values: readonly (readonly (number | null)[])[];
  readonly unit: string;
  readonly height: number;
  /** Returns the figures of a minute in words. `minute` is an index into `minutes`. */
  reading(minute: number): string;
  /**
   * Called when the user chooses a minute, with its start in ms since the epoch. If missing, the user cannot choose a
   * minute.
   */
  readonly onMinute?: ((startMs: number) => void) | undefined;
}

/** A minute in seconds, because the chart's x axis is in seconds. */
const MINUTE = 60;
const BAR_WIDTH = 0.7;
const POINT_SIZE = 5;
/**
 * Possible intervals between the labels of the x axis, in seconds. The chart uses the shortest interval that leaves
 * room for each label.
 */
const TIME_STEPS = [5, 10, 15, 20, 30].map((count) => count * MINUTE);
const TIME_LABEL_WIDTH = 60;

/**
 * A chart of the last hour. While the mouse is over a minute, the chart shows the minute's figures. If `onMinute` is
 * given, the user chooses a minute with a click, or with the keyboard: arrow keys move a slider over the chart, and
 * Enter chooses.
 */
export function Chart({ label, minutes, series, values, unit, height, reading, onMinute }: ChartProps) {
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const [picked, setPicked] = useState<number | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [minutes, ...values] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  function choose(minute: number | null | undefined): void {
    const start = minute == null ? undefined : minutes[minute];
    if (start !== undefined) onMinute?.(start * 1_000);
  }
  const chooseLatest = useRef(choose);
  chooseLatest.current = choose;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    function draw(at: HTMLDivElement): void {
      plot.current?.destroy();
      const drawn = new uPlot(optionsFor(at, series, unit, height, setPointed), latest.current, at);
      drawn.over.addEventListener("click", () => chooseLatest.current(drawn.cursor.idx));
      plot.current = drawn;
    }
    draw(element);
    const stop = onColours(() => draw(element));
    const stopTimes = timesIn.subscribe(() => plot.current?.redraw(false, true));
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      stop();
      stopTimes();
      plot.current?.destroy();
      plot.current = undefined;
    };
    // The series depend on the mode of the workspace, so the chart is created again when the series change.
  }, [series.map(({ label: of, colour }) => `${of} ${colour}`).join(), unit, height]);

  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);

  const shown = pointed ?? picked;
  const at = shown === undefined ? undefined : minutes[shown];
  return (
    <div class={`chart-box${onMinute === undefined ? "" : " is-clickable"}`}>
      <div class="chart" ref={box} role="img" aria-label={label} />
      {onMinute !== undefined && (
        <MinuteSlider
          minutes={minutes}
          picked={picked}
          reading={reading}
          onPick={setPicked}
          onChoose={choose}
        />
      )}
      {at !== undefined && shown !== undefined && (
        // The chart's label contains the figures for screen readers.
        <p class="chart-reading" aria-hidden="true">
          {localTime(at * 1_000, "clock")}: {reading(shown)}
        </p>
      )}
    </div>
  );
}

interface MinuteSliderProps extends Pick<ChartProps, "minutes" | "reading"> {
  readonly picked: number | undefined;
  onPick(minute: number | undefined): void;
  onChoose(minute: number): void;
}

/**
 * Lets a keyboard user read and choose the minutes of a chart. The slider covers the chart, but mouse events pass
 * through to the chart.
 */
function MinuteSlider({ minutes, picked, reading, onPick, onChoose }: MinuteSliderProps) {
  const last = minutes.length - 1;
  const now = Math.min(picked ?? last, last);
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: now - 1,
    ArrowDown: now - 1,
    ArrowRight: now + 1,
    ArrowUp: now + 1,
    PageDown: now - 10,
    PageUp: now + 10,
    Home: 0,
    End: last,
  };
  function onKeyDown(event: KeyboardEvent): void {
    const to = steps[event.key];
    if (to !== undefined) onPick(Math.max(0, Math.min(last, to)));
    else if (event.key === "Enter" || event.key === " ") onChoose(now);
    else return;
    event.preventDefault();
  }
  return (
    <div
      class="chart-slider"
      role="slider"
      tabIndex={0}
      aria-label="Minute; Enter shows its deliveries in the log"
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={now}
      aria-valuetext={`${localTime((minutes[now] ?? 0) * 1_000, "clock")}: ${reading(now)}`}
      onKeyDown={onKeyDown}
      onFocus={() => onPick(now)}
      onBlur={() => onPick(undefined)}
    />
  );
}

function optionsFor(
  element: HTMLElement,
  series: readonly ChartSeries[],
  unit: string,
  height: number,
  onPoint: (minute: number | undefined) => void,
): uPlot.Options {
  const colour = (name: string): string => colourOf(element, name);
  const axis = {
    stroke: colour("--quiet"),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
    scales: {
      // The x axis extends half a minute beyond each end, so that the first and the last bar are not cut off.
      x: { range: (_plot, min, max) => [min - MINUTE / 2, max + MINUTE / 2] },
      y: { range: (_plot, _min, max) => [0, axisSteps(max).at(-1) ?? 1] },
    },
    // The y axis shows only whole numbers, because its values are counts or ms.
    axes: [
      {
        ...axis,
        size: 34,
        gap: 9,
        grid: { show: false },
        incrs: TIME_STEPS,
        values: (_plot, splits) => splits.map((at) => localTime(at * 1_000, "clock")),
        space: TIME_LABEL_WIDTH,
      },
      {
        ...axis,
        size: 60,
        splits: (plot) => [...axisSteps(plot.scales["y"]?.max ?? 0)],
        values: (_plot, splits) => splits.map((value) => `${value.toLocaleString("en")}${unit}`),
      },
    ],
    series: [{}, ...series.map((each) => seriesFor(each, colour(each.colour)))],
  };
}

function seriesFor({ label, kind }: ChartSeries, colour: string): uPlot.Series {
  switch (kind) {
    case "band":
    case "bars": {
      const paths = uPlot.paths.bars?.({ size: kind === "band" ? [1, Infinity] : [BAR_WIDTH, 40] });
      return {
        label,
        fill: colour,
        stroke: colour,
        width: 0,
        points: { show: false },
        ...(paths && { paths }),
      };
    }
    case "line":
      return { label, stroke: colour, width: 2, points: { show: true, size: POINT_SIZE, fill: colour } };
    case "points":
      return {
        label,
        stroke: colour,
        paths: () => null,
        points: { show: true, size: POINT_SIZE, fill: colour },
      };
  }
}

/** Returns a colour variable's value in the current theme. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}
