import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { onColours } from "../theme";

export interface ChartSeries {
  readonly label: string;
  /** A colour variable of the stylesheet, e.g. "--good". */
  readonly colour: string;
  readonly kind: "bars" | "line" | "points";
}

export interface ChartProps {
  /** Description for screen readers. */
  readonly label: string;
  /** Start of each minute, in seconds since the epoch. */
  readonly minutes: readonly number[];
  readonly series: readonly ChartSeries[];
  /** One list for each series. A list has one value for each minute. */
  readonly values: readonly (readonly (number | null)[])[];
  readonly unit: string;
  readonly height: number;
}

/** A minute in seconds, because the chart's x axis is in seconds. */
const MINUTE = 60;
const BAR_WIDTH = 0.7;
const POINT_SIZE = 5;
const WHOLE_STEPS = [1, 10, 100, 1_000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]);
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function Chart({ label, minutes, series, values, unit, height }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [minutes, ...values] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    function draw(at: HTMLDivElement): void {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(at, series, unit, height), latest.current, at);
    }
    draw(element);
    const stop = onColours(() => draw(element));
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      stop();
      plot.current?.destroy();
      plot.current = undefined;
    };
    // The series depend on the mode of the workspace, so the chart is created again when the series change.
  }, [series.map(({ label: of, colour }) => `${of} ${colour}`).join(), unit, height]);

  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);

  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

function optionsFor(
  element: HTMLElement,
  series: readonly ChartSeries[],
  unit: string,
  height: number,
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
    cursor: { show: false },
    scales: {
      // The x axis has half a minute more at each end, so that the first and the last bar are not cut off.
      x: { range: (_plot, min, max) => [min - MINUTE / 2, max + MINUTE / 2] },
      y: { range: (_plot, _min, max) => [0, Math.max(5, max * 1.1)] },
    },
    // The y axis has whole numbers only, because it shows counts or ms.
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        values: (_plot, splits) => splits.map((at) => TIME.format(at * 1_000)),
        space: 70,
      },
      {
        ...axis,
        size: 60,
        incrs: WHOLE_STEPS,
        space: 36,
        values: (_plot, splits) => splits.map((value) => `${value.toLocaleString()}${unit}`),
      },
    ],
    series: [{}, ...series.map((each) => seriesFor(each, colour(each.colour)))],
  };
}

function seriesFor({ label, kind }: ChartSeries, colour: string): uPlot.Series {
  switch (kind) {
    case "bars": {
      const paths = uPlot.paths.bars?.({ size: [BAR_WIDTH, 40] });
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
