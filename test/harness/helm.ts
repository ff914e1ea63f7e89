import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { ROOT } from "./compose-file";
import { installHelm } from "../programs/go";
import type { Manifest } from "./manifests";

const run = promisify(execFile);

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

const CHART = join(ROOT, "deploy/helm/chat-bridge");
/** Examples of values in the chart's folder ci/, one for each kind of Redis, and one with every part of the chart. */
export const EXAMPLES = ["single", "sentinel", "cluster", "everything"] as const;
export type Example = (typeof EXAMPLES)[number];

/** Oldest and newest release of Kubernetes that the chart is checked against. */
export const KUBERNETES = ["1.25", "1.37"] as const;
const NEWEST = "1.37";

let installed: Promise<string> | undefined;
const installedHelm = (): Promise<string> => (installed ??= installHelm());

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `helm <command>` for the chart, and simulates a cluster with the given release of Kubernetes. */
export async function helm(command: readonly string[], options: readonly string[] = [], kubernetes = NEWEST) {
  const cluster = ["--kube-version", `${kubernetes}.0`];
  const args = [...command, CHART, "--namespace", "chat", ...cluster, ...options];
  return run(await installedHelm(), args, { maxBuffer: OUTPUT_MAX_BYTES }).then(
    ({ stdout, stderr }): HelmResult => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: HelmResult): HelmResult => ({ code, stdout, stderr }),
  );
}

/** Returns Helm's options for the values of an example. */
export const valuesOf = (example: Example): readonly string[] => [
  "--values",
  join(CHART, "ci", `${example}-values.yaml`),
];

const PROMETHEUS_OPERATOR = ["--api-versions", "monitoring.coreos.com/v1"];

/** Renders the chart with the values of an example, and `options`. Returns YAML. Throws Helm's message when that fails. */
export async function renderText(example: Example, options: readonly string[] = [], kubernetes?: string) {
  const all = [...valuesOf(example), ...PROMETHEUS_OPERATOR, ...options];
  const { code, stdout, stderr } = await helm(["template", "games"], all, kubernetes);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Returns the objects that the chart renders with the values of an example, and `options`. */
export async function render(
  example: Example,
  options: readonly string[] = [],
): Promise<readonly Manifest[]> {
  return parseAllDocuments(await renderText(example, options)).map((each) => each.toJS() as Manifest);
}
