// Everything that must hold before a change lands, in turn; the tests last, so
// that their closing line is the run's.
import { spawnSync } from "node:child_process";

const git = (...args) => spawnSync("git", args, { encoding: "utf8" });
const hasProtosOnMain = git("cat-file", "-e", "main:proto").status === 0;

const STEPS = [
  ["format", "prettier", "--check", "--log-level", "warn", "."],
  ["types", "tsc", "-p", "tsconfig.json"],
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
    "bench",
    "proto/gen",
  ],
  ["dead code", "knip"],
  ["protos", "buf", "lint"],
  // Once there is something to break.
  ...(hasProtosOnMain
    ? [["proto compatibility", "buf", "breaking", "proto", "--against", ".git#branch=main,subdir=proto"]]
    : []),
  ["generated code", "node", "scripts/gen.mjs", "--check"],
  ["tests", "npm", "test", "--silent"],
];

for (const [name, ...command] of STEPS) {
  process.stdout.write(`── ${name}\n`);
  const [program, ...args] =
    command[0] === "node" || command[0] === "npm" ? command : ["npx", "--no-install", ...command];
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) {
    process.stdout.write(`── ${name} failed\n`);
    process.exit(1);
  }
}
