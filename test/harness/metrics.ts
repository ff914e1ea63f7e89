import { send } from "./bridge";
import type { TestProcess } from "./processes";

export interface ReadMetric {
  readonly help: string;
  type: string;
  /**
   * The values, by their labels as printed, e.g. `call="poll",answer="page"`. For a histogram, the suffix of the name,
   * e.g. `_bucket`, precedes the labels.
   */
  readonly values: Map<string, number>;
}

/** Reads a process's `/metrics`. Returns the metrics by name. */
export async function readMetrics({ healthPort }: Pick<TestProcess, "healthPort">) {
  const { status, headers, body } = await send(`http://127.0.0.1:${healthPort}`, "/metrics");
  expect(status).toBe(200);
  expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  return parseMetrics(body.toString());
}

/** Matches a line of the Prometheus text format that contains a value. */
const VALUE = /^([a-z_]\w*)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?|[+-]Inf|nan)$/i;

/** Parses the text format of Prometheus. Throws at the first line that is not in this format. */
export function parseMetrics(text: string): ReadonlyMap<string, ReadMetric> {
  const metrics = new Map<string, ReadMetric>();
  let last = "";
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, comment, of, said = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    const metric = metrics.get(of ?? last);
    if (comment === "HELP" && of !== undefined) {
      metrics.set(of, { help: said, type: "", values: new Map() });
      last = of;
    } else if (comment === "TYPE" && metric !== undefined) {
      metric.type = said;
    } else {
      const [, name = "", labels = "", value] = VALUE.exec(line) ?? [];
      if (metric === undefined || value === undefined || !name.startsWith(last)) {
        throw new Error(`not a line of metrics: ${line}`);
      }
      metric.values.set([name.slice(last.length), labels].filter(Boolean).join(" "), Number(value));
    }
  }
  return metrics;
}

/**
 * Returns the value of a metric with these `labels`, or 0 if the process's metrics do not include it. Throws for an
 * unknown name.
 */
export function valueOf(metrics: ReadonlyMap<string, ReadMetric>, name: string, labels = ""): number {
  const metric = metrics.get(name);
  if (metric === undefined) throw new Error(`there is no metric ${name}`);
  return metric.values.get(labels) ?? 0;
}
