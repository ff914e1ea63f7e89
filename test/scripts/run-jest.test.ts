import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { testFolder } from "../harness/folder";

const ROOT = join(__dirname, "../..");

const folder = testFolder();
beforeAll(() => {
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "jest.config.js"), 'module.exports = { testMatch: ["**/*.spec.js"] };');
});

/** Runs test files through `runJest`, and returns its result. */
async function outcomeOf(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  // The bridges' test suite also uses this option.
  const args = [...Object.keys(files), "--maxWorkers=2"];
  const program = `
    import { runJest } from ${JSON.stringify(join(ROOT, "scripts/run-jest"))};
    void runJest(${JSON.stringify(args)}).then((totals) =>
      process.stdout.write("\\n" + JSON.stringify(totals)));`;
  writeFileSync(join(folder, "program.ts"), program);
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "program.ts"], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\n")));
}

/** Returns code that fails the first time and passes afterwards. */
const once = (name: string) =>
  `const { existsSync, writeFileSync } = require("node:fs");
   const ran = existsSync("${name}");
   writeFileSync("${name}", "");
   if (!ran) throw new Error("fails the first time");`;

test("a failed test is repeated alone: it counts as flaky if it then passes, and as failed if it fails again", async () => {
  const outcome = await outcomeOf({
    "good.spec.js": 'test("passes", () => {});',
    "mixed.spec.js": `
      test("passes in the same file", () => {});
      describe("in a group (of [two])", () => { test("fails once", () => { ${once("one")} }); });
      test("fails twice", () => { throw new Error("always"); });`,
  });
  expect(outcome).toEqual({
    passed: 3,
    failed: 1,
    flaky: ["mixed.spec.js › in a group (of [two]) fails once"],
  });
}, 60_000);

test("a test file that fails to load is run again as a whole", async () => {
  const outcome = await outcomeOf({
    "loads-later.spec.js": `${once("two")} test("passes when it is repeated", () => {});`,
    "never-loads.spec.js": 'throw new Error("always"); test("never runs", () => {});',
  });
  expect(outcome).toEqual({ passed: 1, failed: 1, flaky: ["loads-later.spec.js › (the file)"] });
}, 60_000);

test("the list at RUNNING_FILES contains a test file only while it runs", async () => {
  const list = join(folder, "running-files");
  const reporter = JSON.stringify(join(ROOT, "test/harness/running-files.js"));
  const config = join(folder, "jest.config.js");
  writeFileSync(config, `module.exports = { testMatch: ["**/*.spec.js"], reporters: [${reporter}] };`);
  const text = `test("reads the list", () =>
    expect(require("node:fs").readFileSync(${JSON.stringify(list)}, "utf8")).toBe("reads.spec.js"));`;
  expect(await outcomeOf({ "reads.spec.js": text }, { RUNNING_FILES: list })).toEqual({
    passed: 1,
    failed: 0,
    flaky: [],
  });
  expect(readFileSync(list, "utf8")).toBe("");
}, 60_000);

test("a file that leaves a timer, a server or a process open fails, and the report names what is open", async () => {
  const environment = JSON.stringify(join(ROOT, "test/harness/environment.js"));
  const config = join(folder, "jest.config.js");
  writeFileSync(config, `module.exports = { testMatch: ["**/*.spec.js"], testEnvironment: ${environment} };`);
  // The timer and the process last longer than the test environment waits, but end soon enough for jest to exit.
  const leak = `const open = () => {
      const server = require("node:net").createServer().listen(0);
      setTimeout(() => server.close(), 15_000);
      require("node:child_process").spawn("sleep", ["15"], { stdio: "ignore" });
    };`;
  const files = {
    "closes.spec.js": `test("passes", () => void clearTimeout(setTimeout(() => undefined, 1e6)));`,
    "leaks.spec.js": `${leak} test("passes", open);`,
  };
  expect(await outcomeOf(files)).toEqual({ passed: 1, failed: 1, flaky: [] });
}, 120_000);
