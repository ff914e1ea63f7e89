import { spawnSync } from "node:child_process";

/** A check: its name, and its command. */
export type Step = readonly [name: string, ...command: string[]];

const FOLDERS = [
  "contract",
  "core",
  "edge",
  "runtime",
  "deploy",
  "kit",
  "bridges",
  "bench",
  "demo",
  "cli",
  "proto",
];

export const buildOfWorkspaces: Step = [
  "build of the kit and the bridges",
  "npm",
  "run",
  "--silent",
  "build",
  "--workspaces",
  "--if-present",
];

/**
 * Returns the checks that do not start a service, as two sequences of steps. The two sequences may run at the same
 * time; the steps of a sequence run in order.
 */
export function staticSteps(): readonly (readonly Step[])[] {
  return [
    [
      ["format", "oxfmt", "--check"],
      ["types", "tsc", "-p", "tsconfig.json"],
      ["types of the dashboard", "tsc", "-p", "dashboard/tsconfig.json"],
      ["types of the chat's page", "tsc", "-p", "demo/chat/page/tsconfig.json"],
      ["dead code", "knip"],
      ["generated code", "node", "scripts/gen.mjs", "--check"],
    ],
    [
      buildOfWorkspaces,
      // The linter reads the compiled types of the kit and of the bridges.
      ["lint", "oxlint", "--type-aware"],
      ["allowed imports", "depcruise", "--config", ".dependency-cruiser.cjs", ...FOLDERS],
      ["protos", "buf", "lint"],
      ...(hasMain() ? [PROTO_COMPATIBILITY] : []),
      ["contract page", "node", "scripts/contract-page.mjs", "--check"],
      ["versions", "node", "scripts/release.mjs", "--check"],
    ],
  ];
}

/**
 * Checks that the protos are compatible with those of the branch `main`. A clone without this branch skips the check.
 */
const PROTO_COMPATIBILITY: Step = [
  "proto compatibility",
  "buf",
  "breaking",
  "proto",
  "--against",
  ".git#branch=main,subdir=proto",
];

function hasMain(): boolean {
  return spawnSync("git", ["rev-parse", "--verify", "--quiet", "main"]).status === 0;
}
