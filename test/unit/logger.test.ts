import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createLogger, type LogLevel } from "../../runtime/logger";

const LOGGER = join(__dirname, "../../dist/runtime/logger.js");

/** Runs a process that logs `count` numbered entries, and then runs `end`. Returns the exit code and the output. */
async function run(count: number, end: string, to = "") {
  const script = `const log = require(${JSON.stringify(LOGGER)}).createLogger("short", "info");
    for (let i = 0; i < ${count}; i++) log.info({ i }, "entry " + i);
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
  ["finishes", ""],
  ["calls process.exit", "process.exit(0)"],
  ["throws an error", "throw new Error('thrown by the test')"],
  ["is killed", "process.kill(process.pid, 'SIGKILL')"],
])(
  "all entries of a process are written, in order, even if the process %s right after the last entry",
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

test("if a process cannot write its log, it continues to run, and stays within its memory limit", async () => {
  // About 50 MB of entries.
  const { code, stderr } = await run(500_000, "process.exit(7)", "> /dev/full");
  expect([code, stderr]).toEqual([7, ""]);
});

type Entry = Readonly<Record<"level" | "msg" | "where" | "suppressed", unknown>>;

describe("repeated entries", () => {
  const written: Entry[] = [];
  const counts = (from = 0) =>
    written.slice(from).map(({ level, msg, where, suppressed }) => [level, where, msg, suppressed]);
  let log: ReturnType<typeof createLogger>;
  function start(level: LogLevel): void {
    log = createLogger("here", level, { write: (line) => void written.push(JSON.parse(line) as Entry) });
  }
  function repeat(times: number, write: () => void): void {
    for (let i = 0; i < times; i++) write();
  }
  beforeEach(() => {
    jest.useFakeTimers();
    written.length = 0;
  });
  afterEach(() => jest.useRealTimers());

  // time: controlled
  test("repeated entries do not suppress entries of another token", () => {
    start("info");
    repeat(150, () => log.info({ by: "ann" }, "changed"));
    repeat(2, () => log.info({ by: "bob" }, "changed"));
    expect(written).toHaveLength(102);
    jest.advanceTimersByTime(60_000);
    expect(written.slice(102)).toMatchObject([{ by: "ann", suppressed: 50 }]);
  });

  // time: controlled
  test("repeated entries are written at most 100 times a minute per level, message and `where`, and a later entry counts the rest", () => {
    start("info");
    repeat(250, () => log.error({ where: "a", id: Math.random() }, "failed"));
    repeat(100, () => log.error({ where: "b" }, "failed"));
    repeat(101, () => log.warn("failed"));
    expect(written.map(({ where }) => where)).toEqual([
      ...Array<string>(100).fill("a"),
      ...Array<string>(100).fill("b"),
      ...Array<undefined>(100).fill(undefined),
    ]);
    jest.advanceTimersByTime(60_000);
    expect(counts(300)).toEqual([
      ["error", "a", "repeated lines were suppressed: failed", 150],
      ["warn", undefined, "repeated lines were suppressed: failed", 1],
    ]);
    log.error({ where: "a" }, "failed");
    jest.advanceTimersByTime(60_000);
    expect(counts(302)).toEqual([["error", "a", "failed", undefined]]);
  });

  test("repeated entries are all written if they are fatal, or if the log level is debug", () => {
    start("info");
    repeat(500, () => log.fatal("failed"));
    start("debug");
    repeat(500, () => log.error("failed"));
    expect(written).toHaveLength(1_000);
  });

  test("repeated entries are counted for at most 256 kinds (level, message and `where`) at a time; a count is written before its kind is forgotten", () => {
    start("info");
    repeat(102, () => log.warn("first"));
    for (let i = 0; i < 256; i++) log.warn(`kind ${i}`);
    expect(counts(100 + 255)).toEqual([
      ["warn", undefined, "repeated lines were suppressed: first", 2],
      ["warn", undefined, "kind 255", undefined],
    ]);
  });

  test("repeated entries are counted in the log before the process exits", async () => {
    const { stdout } = await run(0, `for (let i = 0; i < 1000; i++) log.error({ where: "Lane" }, "failed");`);
    const lines = stdout.trim().split("\n");
    expect(lines).toHaveLength(101);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: "error", where: "Lane", suppressed: 900 });
  });
});
