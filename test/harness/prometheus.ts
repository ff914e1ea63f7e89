import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { findPrometheus } from "../programs/apt";
import { ROOT } from "./compose-file";
import { freePort } from "./processes";
import { until } from "./wait";

/** An alert rule of `deploy/monitoring/prometheus/alerts.yml`. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}
interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

export const ALERT_RULES = parse(
  readFileSync(join(ROOT, "deploy/monitoring/prometheus/alerts.yml"), "utf8"),
) as RuleFile;

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** Tests divide durations by this number. `WINDOW` and `WAIT` limit the results, in seconds. */
const FASTER = 30;
const WINDOW = { least: 4, most: 10 };
const WAIT = { least: 2, most: 3 };

function shorten(duration: string, { least, most }: { least: number; most: number }): string {
  const [, number = "", unit = ""] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const seconds = (Number(number) * (SECONDS[unit] ?? NaN)) / FASTER;
  return `${Math.min(most, Math.max(least, Math.ceil(seconds)))}s`;
}

/**
 * Returns the rules with shorter values of `for`, and with shorter windows in expressions, e.g. `[5m]`. Metrics,
 * functions and thresholds stay the same.
 */
export function fasterRules({ groups }: RuleFile): RuleFile {
  const faster = (rule: AlertRule): AlertRule => ({
    ...rule,
    expr: rule.expr.replaceAll(/\[(\w+)\]/g, (_all, window: string) => `[${shorten(window, WINDOW)}]`),
    ...(rule.for !== undefined && { for: shorten(rule.for, WAIT) }),
  });
  return { groups: groups.map((group) => ({ ...group, rules: group.rules.map(faster) })) };
}

/** The addresses (host:port) that Prometheus scrapes, by job. */
export type Targets = Readonly<Record<string, readonly string[]>>;

/** Starts a Prometheus that evaluates `rules` every half second, and reads its targets every second. */
export async function startPrometheus(folder: string, rules: RuleFile) {
  const port = await freePort();
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "500ms" },
    rule_files: ["rules.yml"],
    scrape_configs: ["chat-bridge", "chat-bridge-node"].map((job) => ({
      job_name: job,
      file_sd_configs: [{ files: [`${job}.json`], refresh_interval: "1s" }],
    })),
  };
  writeFileSync(join(folder, "prometheus.yml"), stringify(config));
  writeFileSync(join(folder, "rules.yml"), stringify(rules));
  const args = [
    `--config.file=${join(folder, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(await findPrometheus(), args, { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-10_000)));
  const exited = once(child, "close");

  async function ask<T>(path: string): Promise<T> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: T }).data;
  }
  await until("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus stopped: ${errors}`);
    return fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });

  return {
    /** Replaces the targets. */
    setTargets(targets: Targets): void {
      for (const [job, addresses] of Object.entries(targets)) {
        const next = join(folder, `${job}.next`);
        writeFileSync(next, JSON.stringify([{ targets: addresses }]));
        renameSync(next, join(folder, `${job}.json`));
      }
    },
    /** Returns the names of the alerts that fire. */
    async firing(): Promise<ReadonlySet<string>> {
      const { alerts } = await ask<{
        alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[];
      }>("alerts");
      return new Set(alerts.flatMap(({ state, labels }) => (state === "firing" ? [labels.alertname] : [])));
    },
    /** Returns the current results of a query. */
    async query(text: string): Promise<readonly number[]> {
      const { result } = await ask<{ result: readonly { readonly value: readonly [number, string] }[] }>(
        `query?query=${encodeURIComponent(text)}`,
      );
      return result.map(({ value: [, value] }) => Number(value));
    },
    async close(): Promise<void> {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
