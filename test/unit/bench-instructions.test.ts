import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { countInstructions, countsInstructions, instructionsIn } from "../../bench/instructions";
import { createScope } from "../../bench/scope";

/** A `perf` that counts a thousand instructions in processes 11 and 22 from each "enable" to the next "disable". */
const FAKE_PERF = `#!/usr/bin/env node
const args = process.argv.slice(2).join(" ");
const report = (count) => process.stderr.write("Events disabled\\n" + count + ";;instructions:u;1;100.00;;\\n");
if (args.endsWith(" true")) return report(1);
const net = require("node:net");
const [commands, confirmations] = [3, 4].map((fd) => new net.Socket({ fd }));
let [count, on] = [0, false];
commands.setEncoding("utf8").on("data", (text) => {
  for (const command of text.trim().split("\\n")) {
    if (on && command === "disable" && args.endsWith(" -p 11,22")) count += 1000;
    on = command === "enable";
    confirmations.write("ack\\n\\0");
  }
});
process.once("SIGINT", () => {
  report(count);
  process.exit();
});
`;

const scope = createScope();

function writePerf(script: string): string {
  const file = join(scope.folder, "perf");
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return file;
}

afterAll(() => scope.close());

test("the benchmark counts instructions only during its slices, in all processes of the measured side", async () => {
  const perf = writePerf(FAKE_PERF);
  expect(countsInstructions(perf)).toBe(true);
  const counter = await countInstructions(scope, { core: 11, redis: 22 }, perf);
  for (let slice = 0; slice < 3; slice++) {
    await counter.resume();
    await counter.pause();
  }
  await counter.resume();
  expect(await counter.stop()).toBe(3_000);
});

test("the benchmark does not count instructions on a machine without perf or without a counter of instructions", () => {
  expect(countsInstructions(join(scope.folder, "missing"))).toBe(false);
  const perf = writePerf("#!/bin/sh\necho '<not supported>;;instructions:u;0;100.00;;' >&2\n");
  expect(countsInstructions(perf)).toBe(false);
});

test("a perf that fails while it counts does not stop the benchmark", async () => {
  const counter = await countInstructions(scope, { core: 11 }, writePerf("#!/bin/sh\nexit 1\n"));
  await counter.resume();
  await counter.pause();
  expect(await counter.stop()).toBeUndefined();
});

test.each([
  ["120000;;instructions:u;5;100.00;;", 120_000],
  ["Events enabled\n7;;instructions:u;5;50.00;;\\n", 7],
  ["<not counted>;;instructions:u;0;0.00;;", undefined],
  ["12;msec;cpu-clock;5;100.00;;", undefined],
  ["", undefined],
])("the report %j contains the number %s", (report, count) => {
  expect(instructionsIn(report)).toBe(count);
});
