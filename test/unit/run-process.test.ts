import { spawnSync } from "node:child_process";
import { join } from "node:path";

const RUNTIME = join(__dirname, "../../dist/runtime");

/** How a process ends that is asked to stop as soon as it runs, and what it logs; `close` is a function's text. */
function stopped(close: string): { readonly code: number | null; readonly log: readonly object[] } {
  const script = `
    const { createLogger } = require(${JSON.stringify(join(RUNTIME, "logger.js"))});
    const { runProcess } = require(${JSON.stringify(join(RUNTIME, "run-process.js"))});
    setImmediate(() => process.kill(process.pid, "SIGTERM"));
    void runProcess(async () => ({ running: { close: ${close} }, log: createLogger("short", "info") }));
    // A signal that is awaited keeps no process alive.
    setTimeout(() => undefined, 60_000);`;
  const { status, stdout } = spawnSync(process.execPath, ["-e", script]);
  const lines = stdout.toString().trim().split("\n");
  return { code: status, log: lines.map((line) => JSON.parse(line)) };
}

test("a process that is asked to stop closes, says so and exits with 0", () => {
  const { code, log } = stopped("async () => {}");
  expect(log).toMatchObject([{ msg: "stopping", signal: "SIGTERM" }, { msg: "stopped" }]);
  expect(code).toBe(0);
});

test("one that cannot close as it should logs why and exits with 1", () => {
  const { code, log } = stopped("async () => { throw new Error('it is stuck') }");
  expect(log).toMatchObject([
    { msg: "stopping" },
    { level: 50, msg: "did not stop as it should", err: { message: "it is stuck" } },
  ]);
  expect(code).toBe(1);
});

test("one that does not close within ten seconds is ended, with 1", () => {
  const began = performance.now();
  const { code, log } = stopped("() => new Promise(() => undefined)");
  expect(log).toMatchObject([{ msg: "stopping" }, { level: 50, msg: "did not stop in time, giving up" }]);
  expect(code).toBe(1);
  expect(performance.now() - began).toBeGreaterThan(9_900);
});
