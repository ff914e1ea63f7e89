import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { ROOT } from "./compose-file";
import { findGo, goEnvironment } from "./go";
import type { Manifest } from "./manifests";

const run = promisify(execFile);

const VERSION = "3.22.0";
const FOLDER = join(ROOT, ".runtimes", `helm-${VERSION}`);
const PROGRAM = join(FOLDER, "helm");
const INSTALL_WITHIN_MS = 10 * 60_000;
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

const CHART = join(ROOT, "deploy/helm/chat-bridge");
/** Examples of values in the chart's folder ci/, one for each kind of Redis, and one with every part of the chart. */
export const EXAMPLES = ["single", "sentinel", "cluster", "everything"] as const;
export type Example = (typeof EXAMPLES)[number];

/** Oldest and newest release of Kubernetes that the chart is checked against. */
export const KUBERNETES = ["1.25", "1.37"] as const;
const NEWEST = "1.37";

/** Builds Helm from its Go module, unless it is already built. Installs Go if it is missing. */
export async function installHelm(say: (line: string) => void): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const go = await findGo(say);
  const env = { ...goEnvironment(go), GOBIN: FOLDER, GOFLAGS: "-mod=mod" };
  // flock lets only one worker build; the others wait, and then find the program.
  const build = `test -x helm || (echo building && "$0" install helm.sh/helm/v3/cmd/helm@v${VERSION})`;
  const args = [join(FOLDER, "lock"), "sh", "-c", build, go];
  await run("flock", args, {
    cwd: FOLDER,
    env,
    timeout: INSTALL_WITHIN_MS,
    maxBuffer: OUTPUT_MAX_BYTES,
  });
}

/** Returns the folder of a Go module with all its files. */
export async function moduleFolder(name: string, version: string): Promise<string> {
  const go = await findGo();
  const env = { ...goEnvironment(go), GOFLAGS: "-mod=mod" };
  const args = ["mod", "download", "-json", `${name}@${version}`];
  const { stdout } = await run(go, args, { cwd: FOLDER, env, timeout: INSTALL_WITHIN_MS });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `helm <command>` for the chart, as if the cluster had the given release of Kubernetes and the Prometheus Operator. */
export async function helm(command: readonly string[], options: readonly string[] = [], kubernetes = NEWEST) {
  const cluster = ["--kube-version", `${kubernetes}.0`];
  const args = [...command, CHART, "--namespace", "chat", ...cluster, ...options];
  return run(PROGRAM, args, { maxBuffer: OUTPUT_MAX_BYTES }).then(
    ({ stdout, stderr }): HelmResult => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: HelmResult): HelmResult => ({ code, stdout, stderr }),
  );
}

/** Returns the options of Helm that choose the values of an example. */
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
