const { join } = require("node:path");
const { tmpdir } = require("node:os");
const base = require("../../jest.config.js");

// The workers inherit this variable, and table-reporter.js reads it.
process.env.FAULTS_TABLE ??= join(tmpdir(), `cb-faults-${process.pid}.jsonl`);

/** @type {import("jest").Config} */
module.exports = {
  ...base,
  rootDir: "../..",
  roots: ["<rootDir>/test/faults"],
  testMatch: ["**/*.fault.ts", "**/account.test.ts"],
  testTimeout: 300_000,
  reporters: [
    "default",
    "<rootDir>/test/faults/table-reporter.js",
    "<rootDir>/test/harness/running-files.js",
    "<rootDir>/test/harness/summary.js",
  ],
};
