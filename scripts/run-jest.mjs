// Runs jest, and then runs the failed tests of each file once more, one file at a time. So a test that fails once by
// chance does not fail the whole run. A test that passes the second time is reported as flaky; a test that fails
// twice counts as failed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

/**
 * @param args arguments of jest
 * @param node path of the Node program, for jest and for the processes that tests start
 * @param env more environment variables of jest
 * @returns {{ passed: number, failed: number, flaky: string[] }} `flaky` lists each flaky test as `<file> › <title>`
 */
export function runJest(args, node = process.execPath, env = {}) {
  const first = jestResults(args, node, env);
  if (first === undefined) return { passed: 0, failed: 1, flaky: [] };
  let { numPassedTests: passed } = first;
  const broken = first.testResults.filter(({ status }) => status === "failed");
  let failed = first.success || broken.length > 0 ? 0 : 1;
  const flaky = [];
  for (const { name, assertionResults } of broken) {
    const file = relative(process.cwd(), name);
    const titles = assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName }) => fullName);
    process.stdout.write(`── running again, alone: ${file}\n`);
    const again = jestResults([...args, ...alone(name, titles)], node, env)?.testResults[0];
    // If there are no titles, the file could not be loaded.
    for (const title of titles.length > 0 ? titles : ["(the file)"]) {
      const result = again?.assertionResults.find(({ fullName }) => fullName === title)?.status;
      const hasPassed = (titles.length > 0 ? result : again?.status) === "passed";
      if (hasPassed) flaky.push(`${file} › ${title}`);
      if (titles.length > 0 && hasPassed) passed++;
      if (!hasPassed) failed++;
    }
    if (titles.length === 0 && again !== undefined) {
      passed += again.assertionResults.filter(({ status }) => status === "passed").length;
    }
  }
  return { passed, failed, flaky };
}

function alone(file, titles) {
  const chosen = titles.length > 0 ? ["-t", `^(${titles.map(escape).join("|")})$`] : [];
  return ["--runInBand", "--runTestsByPath", file, ...chosen];
}

function escape(title) {
  return title.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Returns jest's JSON report; undefined when jest could not start. */
function jestResults(args, node, env) {
  const folder = mkdtempSync(join(tmpdir(), "run-jest-"));
  const file = join(folder, "results.json");
  try {
    const jest = ["node_modules/jest/bin/jest.js", ...args, "--json", `--outputFile=${file}`];
    // `scripts/check.mjs` prints the totals of all runs, so a single run prints no totals.
    spawnSync(node, jest, {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ...env, CLOSING_LINE: "off" },
    });
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
