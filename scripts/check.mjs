// Runs all checks that a change must pass. The last line of output counts the tests of all suites.
//
//   node scripts/check.mjs          all checks
//   node scripts/check.mjs static   checks that start no service: format, types, lint, allowed imports, generated files
//   node scripts/check.mjs tests    all tests, and then some of them again on every supported Node, Redis 8 and Valkey
import { spawnSync } from "node:child_process";
import { REDIS_SERVERS } from "./redis-servers.mjs";
import { runJest } from "./run-jest.mjs";
import { installRuntime, RUNTIMES } from "./runtimes.mjs";

const git = (...args) => spawnSync("git", args, { encoding: "utf8" });
const hasMain = git("rev-parse", "--verify", "--quiet", "main").status === 0;
const FOLDERS = [
  "contract",
  "core",
  "edge",
  "runtime",
  "local",
  "bridge",
  "bridges",
  "bench",
  "demo",
  "cli",
  "compose",
  "proto",
];

const BUILD_OF_WORKSPACES = [
  "build of the kit and the bridges",
  "npm",
  "run",
  "--silent",
  "build",
  "--workspaces",
  "--if-present",
];

const STATIC = [
  ["format", "prettier", "--check", "--log-level", "warn", "."],
  ["types", "tsc", "-p", "tsconfig.json"],
  ["types of the dashboard", "tsc", "-p", "dashboard/tsconfig.json"],
  ["types of the chat's page", "tsc", "-p", "demo/chat/page/tsconfig.json"],
  BUILD_OF_WORKSPACES,
  // The linter reads the compiled types of the kit and of the bridges.
  ["lint", "oxlint", "--type-aware"],
  ["allowed imports", "depcruise", "--config", ".dependency-cruiser.cjs", ...FOLDERS],
  ["dead code", "knip"],
  ["protos", "buf", "lint"],
  // `buf breaking` compares the protos with the branch `main`. A clone without this branch skips the check.
  ...(hasMain
    ? [["proto compatibility", "buf", "breaking", "proto", "--against", ".git#branch=main,subdir=proto"]]
    : []),
  ["generated code", "node", "scripts/gen.mjs", "--check"],
  ["contract page", "node", "scripts/contract-page.mjs", "--check"],
];

/** End-to-end tests that run on every supported Node: inbound events, polls, pushes, `Follow` and a graceful stop. */
const ROUND = ["inbound-order", "poll-page", "push-delivery", "follow", "graceful-stop"].map(
  (name) => `test/e2e/${name}.test`,
);
/** File patterns for jest. `test/unit` also matches the unit tests of the bridge kit, in bridge/test/unit. */
const ON_EVERY_NODE = ["test/unit", "test/store", ...ROUND];

/** File patterns for jest: the tests of the store, alone, behind Sentinel and in a cluster, and of crashes. */
const ON_EVERY_REDIS = [
  "test/store",
  ...["redis-topologies", "crash"].map((name) => `test/e2e/${name}.test`),
];

const SUITES = [
  ["npm test", []],
  ["npm run test:extras", ["-c", "jest.extras.config.js"]],
  ["npm run test:bridges", ["-c", "jest.bridges.config.js"]],
  ["npm run test:faults", ["-c", "test/faults/jest.config.js"]],
];

/** @type {{ passed: number, failed: number, flaky: string[] }} */
const total = { passed: 0, failed: 0, flaky: [] };

/** Prints the flaky tests and the totals of all suites, and exits. */
function close(code) {
  for (const each of total.flaky) process.stdout.write(`flaky: ${each}\n`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exit(code);
}

function runStep(name, ...command) {
  process.stdout.write(`── ${name}\n`);
  const isOurs = command[0] === "node" || command[0] === "npm";
  const [program, ...args] = isOurs ? command : ["npx", "--no-install", ...command];
  if (spawnSync(program, args, { stdio: "inherit" }).status === 0) return;
  process.stdout.write(`── ${name} failed\n`);
  close(1);
}

function runSuite(name, args, { node, env } = {}) {
  process.stdout.write(`── ${name}\n`);
  const began = performance.now();
  const { passed, failed, flaky } = runJest(args, node, env);
  total.passed += passed;
  total.failed += failed;
  total.flaky.push(...flaky);
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(`── ${name}: passed ${passed}, failed ${failed}, in ${seconds} s\n`);
  if (failed > 0) close(1);
}

const [part = "all"] = process.argv.slice(2);
if (part !== "tests") for (const step of STATIC) runStep(...step);
if (part !== "static") {
  runStep("build", "npm", "run", "--silent", "build");
  if (part === "tests") runStep(...BUILD_OF_WORKSPACES);
  for (const [name, args] of SUITES) runSuite(name, args);
  for (const [line, version] of Object.entries(RUNTIMES)) {
    runSuite(`Node ${line}`, ON_EVERY_NODE, { node: installRuntime(line, version) });
  }
  for (const [name, find] of Object.entries(REDIS_SERVERS)) {
    const server = find();
    if (server !== undefined) runSuite(name, ON_EVERY_REDIS, { env: { REDIS_SERVER: server } });
    else process.stdout.write(`SKIPPED: tests on ${name} (no server on the PATH, and not Debian 12)\n`);
  }
}
close(0);
