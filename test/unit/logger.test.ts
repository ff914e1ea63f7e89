import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const LOGGER = join(__dirname, "../../dist/runtime/logger.js");

/** Runs a process that logs so many numbered entries and then ends so; answers what came of it, and what it logged. */
async function run(count: number, end: string, to = "") {
  const script = `const log = require(${JSON.stringify(LOGGER)}).createLogger("short", "info");
    for (let i = 0; i < ${count}; i++) log.info({ i });
    ${end}`;
  const command = `exec "$0" --max-old-space-size=24 -e "$1" ${to}`;
  const args = ["-c", command, process.execPath, script];
  const ran = promisify(execFile)("/bin/sh", args, { maxBuffer: 2 ** 24 });
  return ran.then(
    (output) => ({ ...output, code: 0 }),
    (error: { code: number | null; stdout: string; stderr: string }) => error,
  );
}

test.each([
  ["comes to its end", ""],
  ["exits", "process.exit(0)"],
  ["fails", "throw new Error('of a test')"],
  ["is killed", "process.kill(process.pid, 'SIGKILL')"],
])(
  "everything that a process logged is there and in order, also when it %s right after",
  async (_how, end) => {
    await Promise.all(
      [2, 10_000].map(async (count) => {
        const lines = (await run(count, end)).stdout.trim().split("\n");
        const log = lines.map((line) => JSON.parse(line) as { process: string; i: number });
        expect(log.map(({ i }) => i)).toEqual(Array.from({ length: count }, (_, i) => i));
        expect(new Set(log.map((entry) => entry.process))).toEqual(new Set(["short"]));
      }),
    );
  },
);

test("where the log cannot be written the process goes on, within its memory", async () => {
  // Some 50 MB.
  const { code, stderr } = await run(500_000, "process.exit(7)", "> /dev/full");
  expect([code, stderr]).toEqual([7, ""]);
});
