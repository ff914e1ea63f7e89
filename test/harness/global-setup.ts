import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  findCaddy,
  findChromium,
  findEjabberd,
  findHaproxy,
  findInspircd,
  findNginx,
  findNgircd,
  findNodeExporter,
  findPrometheus,
  findPromtool,
  findProsody,
  findShellcheck,
  findSystemd,
} from "../programs/apt";
import {
  findGatewayApi,
  findGo,
  findPrometheusOperator,
  installActionlint,
  installHelm,
} from "../programs/go";
import { installTypeScripts } from "../programs/npm";
import {
  installKubernetesValidate,
  installNio,
  installSlixmpp,
  installSynapse,
  preparePython,
} from "../programs/pypi";
import { installReleaseBefore } from "../programs/release-before";
import type { Say } from "../programs/tools-folder";
import { shareGameKit } from "../../kit/game/test/harness/shared-game-kit";
import { shareKit } from "../../kit/test/harness/shared-kit";
import { prepareRedisServer } from "./redis-server";
import { startSharedBrowsers, type SharedBrowsers } from "./shared-browsers";
import { startSharedServices, type SharedServices } from "./shared-services";

/** The parts of jest's configuration that `prepare` uses. */
interface RunConfig {
  readonly rootDir: string;
  readonly maxWorkers: number;
  readonly testPathPatterns: {
    toExecutor(options: { readonly rootDir: string }): { isMatch(path: string): boolean };
  };
}

/** The configuration of one of the test suites in this run. */
interface SuiteConfig {
  readonly roots: readonly string[];
}

const ALL_ROOTS = ["test", "kit/test", "kit/game/test", "bridges"];

declare global {
  var sharedServices: SharedServices | undefined;
  var sharedBrowsers: SharedBrowsers | undefined;
  var sharedKit: ReturnType<typeof shareKit> | undefined;
  var sharedGameKit: ReturnType<typeof shareGameKit> | undefined;
}

/**
 * Programs that some tests need. Each entry consists of a pattern that matches the code of these tests, and a function
 * that finds or installs the program.
 */
const PROGRAMS: readonly (readonly [RegExp, (say: Say) => Promise<unknown>])[] = [
  [/\btestBrowser\(/, findChromium],
  [/ngircd/i, findNgircd],
  [/inspircd/i, findInspircd],
  [/prosody/i, findProsody],
  [/ejabberd/i, findEjabberd],
  [/prosody|ejabberd/i, installSlixmpp],
  [/\bfindHaproxy\(/, findHaproxy],
  [/\bfindPromtool\(/, findPromtool],
  [/\bfindNginx\(/, findNginx],
  [/\bfindCaddy\(/, findCaddy],
  [/\bfindSystemd\(/, findSystemd],
  [/\bstartPrometheus\(/, findPrometheus],
  [/\bstartNodeExporter\(/, findNodeExporter],
  [/\bfindShellcheck\(/, findShellcheck],
  [/\bstartSynapse\(/, installSynapse],
  [/\bstartEncryptedMember\(/, installNio],
  [/\binstallKubernetesValidate\(/, installKubernetesValidate],
  [/\bpython3 -m venv/, preparePython],
  [/\binstallTypeScripts\(/, installTypeScripts],
  [/\bfindGo\(/, findGo],
  [/\binstallActionlint\(/, installActionlint],
  [/\/harness\/helm"/, installHelm],
  [/\bfindGatewayApi\b/, findGatewayApi],
  [/\bfindPrometheusOperator\b/, findPrometheusOperator],
  [/\btestUpgrade\b/, installReleaseBefore],
];

/**
 * Runs before all tests. Finds the Redis server of the tests, and installs Redis if it is missing. Installs the
 * programs that the tests of this run need and that are missing. Packs the kit, and starts the shared services and
 * browsers, if the files of this run need them.
 */
export default async function prepare(run: RunConfig, suite: SuiteConfig): Promise<void> {
  const say: Say = (line) => void process.stderr.write(`${line}\n`);
  const wanted = run.testPathPatterns.toExecutor({ rootDir: run.rootDir });
  const isOneSuite = process.argv.includes("--selectProjects");
  const roots = isOneSuite ? suite.roots : ALL_ROOTS.map((folder) => join(run.rootDir, folder));
  const files = roots
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file)),
    )
    .filter((file) => /\.(test|fault)\.ts$/.test(file) && wanted.isMatch(file));
  await prepareRedisServer(say);
  const texts = files.map((file) => readFileSync(file, "utf8"));
  for (const [pattern, install] of PROGRAMS) if (texts.some((text) => pattern.test(text))) await install(say);
  // Any worker may run a file that uses a shared service or browser, so each worker gets one.
  const workersFor = (use: RegExp) =>
    texts.some((text) => use.test(text)) ? Math.min(run.maxWorkers, files.length) : 0;
  if (texts.some((text) => /\bpackedKit\(/.test(text))) globalThis.sharedKit = shareKit();
  if (texts.some((text) => /\bpackedGameKit\(/.test(text))) globalThis.sharedGameKit = shareGameKit();
  globalThis.sharedServices = await startSharedServices(workersFor(/\bshared(Service|Push)\(/));
  globalThis.sharedBrowsers = await startSharedBrowsers(workersFor(/\btestBrowser\(/));
}
