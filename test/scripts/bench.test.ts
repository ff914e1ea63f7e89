import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const MAIN = join(__dirname, "../../dist/bench/main.js");

/** Runs the benchmark with short rounds, and answers what it printed. */
async function bench(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    MAIN,
    ...args,
    "--rounds",
    "1",
    "--seconds",
    "1",
  ]);
  return stdout;
}

test("a part with a reference ends with what ours costs of it, and with the ratio of the rates", async () => {
  const lines = (await bench("push")).trim().split("\n");
  expect(lines.at(-1)).toMatch(/^cost=\d+\.\d{3} min=\d+\.\d{3} max=\d+\.\d{3} ratio=\d+\.\d{3}$/);
  const head = lines.at(-3)?.trim().split(/ {2,}/);
  const processes = ["core", "edge", "redis", "reference"].map((name) => `${name} µs each`);
  expect(head).toEqual([
    "round",
    "ours pushes/s",
    ...processes.slice(0, 3),
    "reference pushes/s",
    ...processes.slice(3),
    "cost",
    "ratio",
  ]);
});
