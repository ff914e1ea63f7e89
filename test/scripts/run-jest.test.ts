import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
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
async function outcomeOf(files: Readonly<Record<string, string>>): Promise<unknown> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const program = `import(${JSON.stringify(join(ROOT, "scripts/run-jest.mjs"))}).then(({ runJest }) =>
    process.stdout.write("\\n" + JSON.stringify(runJest(${JSON.stringify(Object.keys(files))}))))`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", program], { cwd: folder });
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\n")));
}

/** Returns code that fails the first time and passes afterwards. */
const once = (name: string) =>
  `const { existsSync, writeFileSync } = require("node:fs");
   const ran = existsSync("${name}");
   writeFileSync("${name}", "");
   if (!ran) throw new Error("fails the first time");`;

test("a test that passes when it is repeated alone is flaky, and a test that fails twice counts as failed", async () => {
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

test("a file that fails to load is repeated as a whole", async () => {
  const outcome = await outcomeOf({
    "loads-later.spec.js": `${once("two")} test("passes when it is repeated", () => {});`,
    "never-loads.spec.js": 'throw new Error("always"); test("never runs", () => {});',
  });
  expect(outcome).toEqual({ passed: 1, failed: 1, flaky: ["loads-later.spec.js › (the file)"] });
}, 60_000);
