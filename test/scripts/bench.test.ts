import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const MAIN = join(__dirname, "../../dist/bench/main.js");

/** Runs a short benchmark, with few slices, and returns its output. */
async function bench(...args: readonly string[]): Promise<string> {
  const all = [MAIN, ...args, "--slices", "2"];
  const { stdout } = await promisify(execFile)(process.execPath, all);
  return stdout;
}

test("the output of a benchmark part with a reference ends with the cost, its quartiles, the ratio, and the speeds of the machine and its memory", async () => {
  const lines = (await bench("push")).trim().split("\n");
  expect(lines.at(-1)).toMatch(
    /^cost=\d+\.\d{3} q1=\d+\.\d{3} q3=\d+\.\d{3} ratio=\d+\.\d{3} speed=\d+\/\d+ memory=\d+\.\d\/\d+\.\d stolen=\d+\.\d met=(yes|no|unknown \(.+\))$/,
  );
  const head = lines.at(-5)?.trim().split(/ {2,}/);
  const ours = "pairs|ours pushes/s|core µs each|edge µs each|redis µs each";
  expect(head?.join("|")).toBe(`${ours}|reference pushes/s|reference µs each|cost|ratio`);
});
