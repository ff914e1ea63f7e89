// Everything that must hold before a change lands, in turn. Closes with a line
// that counts the tests of all steps.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const git = (...args) => spawnSync("git", args, { encoding: "utf8" });
const hasProtosOnMain = git("cat-file", "-e", "main:proto").status === 0;

const STEPS = [
  ["format", "prettier", "--check", "--log-level", "warn", "."],
  ["types", "tsc", "-p", "tsconfig.json"],
  ["types of the dashboard", "tsc", "-p", "dashboard/tsconfig.json"],
  ["types of the chat's page", "tsc", "-p", "demo/chat/page/tsconfig.json"],
  ["lint", "oxlint", "--type-aware"],
  [
    "import arrows",
    "depcruise",
    "--config",
    ".dependency-cruiser.cjs",
    "core",
    "edge",
    "runtime",
    "local",
    "bridge",
    "bench",
    "demo",
    "cli",
    "compose",
    "proto",
  ],
  ["dead code", "knip"],
  ["protos", "buf", "lint"],
  // Once there is something to break.
  ...(hasProtosOnMain
    ? [["proto compatibility", "buf", "breaking", "proto", "--against", ".git#branch=main,subdir=proto"]]
    : []),
  ["generated code", "node", "scripts/gen.mjs", "--check"],
  ["tests", "npm", "test", "--silent"],
  ["faults", "npm", "run", "--silent", "test:faults"],
];

const folder = mkdtempSync(join(tmpdir(), "check-"));
const env = { ...process.env, TOTALS_FILE: join(folder, "totals") };

/** Says how many tests passed and failed in all, and ends. */
function close(code) {
  const lines = existsSync(env.TOTALS_FILE) ? readFileSync(env.TOTALS_FILE, "utf8").trim().split("\n") : [];
  const counts = lines.map((line) => JSON.parse(line));
  const sum = (name) => counts.reduce((total, each) => total + each[name], 0);
  rmSync(folder, { recursive: true });
  process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed\n`);
  process.exit(code);
}

for (const [name, ...command] of STEPS) {
  process.stdout.write(`── ${name}\n`);
  const [program, ...args] =
    command[0] === "node" || command[0] === "npm" ? command : ["npx", "--no-install", ...command];
  const { status } = spawnSync(program, args, { stdio: "inherit", env });
  if (status !== 0) {
    process.stdout.write(`── ${name} failed\n`);
    close(1);
  }
}
close(0);
