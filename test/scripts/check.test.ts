import { spawnSync } from "node:child_process";
import { ROOT } from "../harness/compose-file";

/** Runs `npm run check` with arguments that do not start any check. */
function check(...args: readonly string[]) {
  const command = ["--import", "tsx", "scripts/check.ts", ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: ROOT, encoding: "utf8" });
  return { status, stdout, stderr };
}

test("the help of npm run check names all parts", () => {
  const { status, stdout } = check("--help");
  expect(status).toBe(0);
  for (const part of ["all", "static", "tests"]) expect(stdout).toMatch(new RegExp(`^  ${part} `, "m"));
});

test.each([[["everything"]], [["static", "tests"]]])(
  "npm run check rejects the arguments %j, and prints its help",
  (args) => {
    const { status, stdout, stderr } = check(...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`unknown arguments: ${args.join(" ")}\n`);
    expect(stderr).toContain("Usage: npm run check");
  },
);
