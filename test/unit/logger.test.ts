import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";

const LOGGER = join(__dirname, "../../dist/runtime/logger.js");

/** Runs a process that logs so many numbered entries and then ends so. */
function run(count: number, end: string, stdout: "pipe" | number = "pipe"): SpawnSyncReturns<Buffer> {
  const script = `const log = require(${JSON.stringify(LOGGER)}).createLogger("short", "info");
    for (let i = 0; i < ${count}; i++) log.info({ i });
    ${end}`;
  const args = ["--max-old-space-size=24", "-e", script];
  return spawnSync(process.execPath, args, { stdio: ["ignore", stdout, "pipe"], maxBuffer: 2 ** 24 });
}

function logOf(count: number, end: string): readonly { readonly process: string; readonly i: number }[] {
  return run(count, end)
    .stdout.toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test.each([
  ["comes to its end", ""],
  ["exits", "process.exit(0)"],
  ["fails", "throw new Error('of a test')"],
  ["is killed", "process.kill(process.pid, 'SIGKILL')"],
])("all that a process logged is there and in order, also when it %s right after", (_how, end) => {
  for (const count of [2, 10_000]) {
    const log = logOf(count, end);
    expect(log.map(({ i }) => i)).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(new Set(log.map((entry) => entry.process))).toEqual(new Set(["short"]));
  }
});

test("where the log cannot be written the process goes on, within its memory", () => {
  const full = openSync("/dev/full", "w");
  try {
    // Some 50 MB.
    const { status, stderr } = run(500_000, "process.exit(7)", full);
    expect([status, stderr.toString()]).toEqual([7, ""]);
  } finally {
    closeSync(full);
  }
});
