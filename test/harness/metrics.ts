import { send } from "./bridge";
import type { TestProcess } from "./processes";

export interface ReadMetric {
  readonly help: string;
  type: string;
  /** By labels as they were written, such as `call="poll",answer="page"`; a histogram's with their ending before. */
  readonly values: Map<string, number>;
}

/** What a process answers at /metrics, by name. */
export async function readMetrics({ healthPort }: Pick<TestProcess, "healthPort">) {
  const { status, headers, body } = await send(`http://127.0.0.1:${healthPort}`, "/metrics");
  expect(status).toBe(200);
  expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  return parseMetrics(body.toString());
}

/** A line with a value: a number, as the format has it. */
const VALUE = /^([a-z_]\w*)(?:\{(.*)\})? (-?[\d.]+(?:e[+-]?\d+)?|[+-]Inf|nan)$/i;

/** Reads the text format of Prometheus; throws at a line that is not of it. */
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

/** One value, 0 where it is not told. */
export function valueOf(metrics: ReadonlyMap<string, ReadMetric>, name: string, labels = ""): number {
  const metric = metrics.get(name);
  if (metric === undefined) throw new Error(`there is no metric ${name}`);
  return metric.values.get(labels) ?? 0;
}
