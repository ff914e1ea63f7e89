// Runs jest, and then runs the failed tests of each file once more, one file at a time. A test that fails once by
// chance therefore does not fail the whole run. A test that passes the second time is reported as flaky; a test that
// fails twice counts as failed.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

export interface JestOptions {
  /** Path of the Node program, for jest and for the processes that tests start. */
  readonly node?: string;
  /** Additional environment variables for jest. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each jest process. */
  readonly onStart?: (jest: ChildProcess) => void;
}

export interface JestTotals {
  passed: number;
  failed: number;
  /** Each flaky test as `<file> › <title>`. */
  flaky: string[];
}

/** The parts of jest's JSON report that `runJest` uses. */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/**
 * Runs jest with the arguments `args` in the current folder. Returns the totals. An argument with a value must have the
 * form `--name=value`.
 */
export async function runJest(args: readonly string[], how: JestOptions = {}): Promise<JestTotals> {
  const first = await jestReport(args, how);
  if (first === undefined) return { passed: 0, failed: 1, flaky: [] };
  let { numPassedTests: passed } = first;
  const broken = first.testResults.filter(({ status }) => status === "failed");
  let failed = first.success || broken.length > 0 ? 0 : 1;
  const flaky: string[] = [];
  for (const { name, assertionResults } of broken) {
    const file = relative(process.cwd(), name);
    const titles = assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName }) => fullName);
    process.stdout.write(`── running again, alone: ${file}\n`);
    // Arguments without `--` are patterns of files, which this run does not use. Jest does not allow both --maxWorkers
    // and --runInBand.
    const options = args.filter((arg) => arg.startsWith("--") && !arg.startsWith("--maxWorkers"));
    const again = (await jestReport([...options, ...alone(name, titles)], how))?.testResults[0];
    // The report contains no test titles for a file that jest could not load.
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

function alone(file: string, titles: readonly string[]): readonly string[] {
  const chosen = titles.length > 0 ? ["-t", `^(${titles.map(escape).join("|")})$`] : [];
  // A test file that leaves handles open fails, but must not keep jest from exiting.
  return ["--runInBand", "--forceExit", "--runTestsByPath", file, ...chosen];
}

function escape(title: string): string {
  return title.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Returns jest's JSON report; undefined when jest could not start. */
async function jestReport(
  args: readonly string[],
  { node = process.execPath, env = {}, onStart }: JestOptions,
): Promise<Report | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "run-jest-"));
  const file = join(folder, "results.json");
  try {
    const jest = spawn(node, ["node_modules/jest/bin/jest.js", ...args, "--json", `--outputFile=${file}`], {
      stdio: ["ignore", "inherit", "inherit"],
      // `scripts/check.ts` prints the totals of all runs, so a single run prints no totals.
      env: { ...process.env, ...env, CLOSING_LINE: "off" },
    });
    onStart?.(jest);
    await once(jest, "exit");
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
