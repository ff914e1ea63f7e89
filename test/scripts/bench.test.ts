import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const MAIN = join(__dirname, "../../dist/bench/main.js");

/** Runs the benchmark with short rounds, and returns its output. */
async function bench(...args: readonly string[]): Promise<string> {
  const all = [MAIN, ...args, "--rounds", "1", "--seconds", "1"];
  const { stdout } = await promisify(execFile)(process.execPath, all);
  return stdout;
}

test("if a part of the benchmark has a reference, the last line of the part's output shows the cost and the ratio", async () => {
  const lines = (await bench("push")).trim().split("\n");
  expect(lines.at(-1)).toMatch(/^cost=\d+\.\d{3} min=\d+\.\d{3} max=\d+\.\d{3} ratio=\d+\.\d{3}$/);
  const head = lines.at(-3)?.trim().split(/ {2,}/);
  const ours = "round|ours pushes/s|core µs each|edge µs each|redis µs each";
  expect(head?.join("|")).toBe(`${ours}|reference pushes/s|reference µs each|cost|ratio`);
});
