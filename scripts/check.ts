// Runs all checks that a change must pass. The last line of output counts the tests of all suites.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { timeFixedWork } from "../bench/machine-speed";
import { installAll, type Installs } from "../test/programs/install-all";
import { installNode, NODES } from "../test/programs/npm";
import { REDIS_SERVERS } from "../test/programs/redis-servers";
import { buildOfWorkspaces, staticSteps, type Step } from "./check-steps";
import { runJest, type JestTotals } from "./run-jest";
import { currentCommit, turnOf } from "./turns";

const HELP = `Usage: npm run check [-- <part>]

Runs all checks that a change must pass. Without a part, it runs the static checks and all tests. Then it repeats
some tests on one other release of Node and on one other store. The commit chooses both, so that all take turns.

Parts:
  all      the same, but repeats the tests on every other Node and every other store
  static   only the checks that start no service: format, types, lint, allowed imports, generated files
  tests    only the tests, repeated on one other Node and one other store
`;
const PARTS = ["all", "static", "tests"];

/**
 * End-to-end tests of inbound events, polls, pushes, `Follow`, a graceful stop, Redis Sentinel, a Redis cluster and
 * crashes.
 */
const ROUND = [
  "inbound-order",
  "poll-page",
  "push-delivery",
  "follow",
  "graceful-stop",
  "redis-topologies",
  "crash",
].map((name) => `test/e2e/${name}.test`);
/**
 * Jest's patterns for the test files that are repeated on another release of Node and another store. `test/unit` also
 * matches the unit tests of the kits, in kit/test/unit and kit/game/test/unit.
 */
const REPEATED = ["test/unit", "test/store", ...ROUND, ...suite("service")];

/** Returns jest's arguments for a suite of jest.config.js. */
function suite(name: string): readonly string[] {
  return [`--selectProjects=${name}`];
}

/**
 * Repeated property tests divide their number of random values by this factor, because the main run tries the full
 * number.
 */
const FEWER = "5";

const SUITES: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["npm test", suite("service")],
  ["npm run test:extras", suite("extras")],
  // These tests often wait for a chat server, so they need more workers than the other suites to use both processors
  // fully.
  ["npm run test:bridges", [...suite("bridges"), "--maxWorkers=6"]],
  ["npm run test:faults", suite("faults")],
  ["npm run test:neighbours", suite("neighbours")],
  ["npm run test:upgrade", suite("upgrade")],
];
/**
 * Runs only if there is a Kubernetes cluster. Runs one file at a time, because some tests keep pods away from a node.
 */
const KUBERNETES = ["npm run test:kubernetes", [...suite("kubernetes"), "--maxWorkers=1"]] as const;

const say = (line: string): void => void process.stdout.write(`── ${line}\n`);
const began = performance.now();
const secondsSince = (from: number): number => Math.round((performance.now() - from) / 1000);

const total: JestTotals = { passed: 0, failed: 0, flaky: [] };
const took: string[] = [];
const folder = mkdtempSync(join(tmpdir(), "cb-check-"));
const runningFiles = join(folder, "running-files");
/**
 * The running processes, by the name of their task. The value is undefined for an installation, which has no separate
 * process.
 */
const running = new Map<string, ChildProcess | undefined>();

/**
 * Stops the processes that still run. Prints the duration of each part, the flaky tests and the totals of all suites,
 * and exits.
 */
function close(code: number, signal?: NodeJS.Signals): never {
  for (const child of running.values()) child?.kill(signal);
  rmSync(folder, { recursive: true, force: true });
  if (took.length > 0) say(`took ${secondsSince(began)} s: ${took.join(", ")}`);
  for (const each of total.flaky) process.stdout.write(`flaky: ${each}\n`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exit(code);
}

/** Reports what was running when a signal stopped the checks, e.g. at the time limit of `.ci/run`. */
function stop(signal: NodeJS.Signals): never {
  say(
    `stopped by ${signal} after ${secondsSince(began)} s, in: ${[...running.keys()].join(", ") || "the start"}`,
  );
  for (const each of filesInProgress()) say(`this file was running: ${each}`);
  total.failed++;
  close(1, signal);
}

function filesInProgress(): readonly string[] {
  try {
    return readFileSync(runningFiles, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

async function runStep([name, ...command]: Step): Promise<void> {
  say(name);
  const from = performance.now();
  const isOurs = command[0] === "node" || command[0] === "npm";
  const [program = "", ...args] = isOurs ? command : ["npx", "--no-install", ...command];
  const child = spawn(program, args, { stdio: "inherit" });
  running.set(name, child);
  const [code] = (await once(child, "exit")) as [number | null];
  running.delete(name);
  took.push(`${name} ${secondsSince(from)} s`);
  if (code === 0) return;
  say(`${name} failed`);
  total.failed++;
  close(1);
}

/** Runs the checks that do not start a service. The two sequences of steps run at the same time. */
async function runStatic(): Promise<void> {
  const inTurn = async (steps: readonly Step[]): Promise<void> => {
    for (const step of steps) await runStep(step);
  };
  await Promise.all(staticSteps().map(inTurn));
}

async function runSuite(name: string, args: readonly string[], { node = process.execPath, env = {} } = {}) {
  say(name);
  const from = performance.now();
  const { passed, failed, flaky } = await runJest(args, {
    node,
    env: { ...env, RUNNING_FILES: runningFiles },
    onStart: (child) => void running.set(name, child),
  });
  running.delete(name);
  total.passed += passed;
  total.failed += failed;
  total.flaky.push(...flaky);
  took.push(`${name} ${secondsSince(from)} s`);
  say(`${name}: passed ${passed}, failed ${failed}, in ${secondsSince(from)} s`);
  if (failed > 0) close(1);
}

/** Waits for an installation. If the installation fails, prints the reason, and ends the checks. */
async function installed(installing: Promise<unknown>): Promise<void> {
  const from = performance.now();
  const name = "the installation of programs";
  running.set(name, undefined);
  try {
    await installing;
    running.delete(name);
  } catch (error) {
    const { message, cause } = error as Error;
    say(`${message}${cause instanceof Error ? `: ${cause.message}` : ""}`);
    total.failed++;
    close(1);
  }
  if (secondsSince(from) > 0) took.push(`waiting for installations ${secondsSince(from)} s`);
}

/** Another release of Node and another store, on which the same tests are repeated. */
interface Repeat {
  readonly line: string;
  readonly version: string;
  readonly store: string;
}

function chooseRepeats(isAll: boolean): readonly Repeat[] {
  const commit = currentCommit();
  const [major = ""] = process.versions.node.split(".");
  const lines = Object.keys(NODES).filter((line) => line !== major) as [string, ...string[]];
  const stores = Object.keys(REDIS_SERVERS) as [string, ...string[]];
  const repeat = (line: string, store: string): Repeat => ({ line, version: NODES[line] ?? line, store });
  if (!isAll) return [repeat(turnOf(lines, commit, 0), turnOf(stores, commit, 1))];
  return Array.from({ length: Math.max(lines.length, stores.length) }, (_, i) =>
    repeat(lines[i % lines.length] ?? "", stores[i % stores.length] ?? ""),
  );
}

async function runTests(repeats: readonly Repeat[], installs: Installs): Promise<void> {
  await runStep(["build", "npm", "run", "--silent", "build"]);
  await installed(installs.redis);
  for (const [index, [name, args]] of SUITES.entries()) {
    if (index === 1) await installed(installs.all);
    await runSuite(name, args);
  }
  if (process.env["KUBECONFIG"]) await runSuite(...KUBERNETES);
  else say(`${KUBERNETES[0]}: skipped: set KUBECONFIG to the file of a cluster (test/kubernetes/README.md)`);
  for (const { line, version, store } of repeats) {
    const server = await REDIS_SERVERS[store]?.(say);
    if (server === undefined) say(`SKIPPED: tests on ${store} (no server on the PATH, and not Debian 12)`);
    await runSuite(server === undefined ? `Node ${line}` : `Node ${line} with ${store}`, REPEATED, {
      node: await installNode(version, say),
      env: { FEWER, ...(server !== undefined && { REDIS_SERVER: server }) },
    });
  }
}

/** Runs the checks, and meanwhile installs the programs that the tests need. */
async function runChecks(part: string | undefined): Promise<void> {
  if (part === "static") {
    await runStatic();
    return;
  }
  const repeats = chooseRepeats(part === "all");
  const names = repeats.map(({ line, store }) => `Node ${line} with ${store}`);
  say(`some tests are repeated on ${names.join(", and on ")}`);
  const versions = repeats.map(({ version }) => version);
  const stores = [...new Set(repeats.map(({ store }) => store))];
  const installs = installAll(versions, stores, (line) => say(`[install] ${line}`));
  // The static checks include the build of the kit and the bridges.
  if (part === "tests") await runStep(buildOfWorkspaces);
  else await runStatic();
  await runTests(repeats, installs);
}

async function main([part, ...more]: readonly string[]): Promise<void> {
  if (part === "--help" || part === "-h") {
    process.stdout.write(HELP);
    return;
  }
  if (more.length > 0 || (part !== undefined && !PARTS.includes(part))) {
    process.stderr.write(`unknown arguments: ${[part, ...more].join(" ")}\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, stop);
  const speed = timeFixedWork();
  await runChecks(part);
  const speeds = `${speed.toFixed(0)} ms before, ${timeFixedWork().toFixed(0)} ms after the checks`;
  say(`this machine takes ${speeds} for a fixed piece of work`);
  close(0);
}

void main(process.argv.slice(2));
