/** The tests of `npm test`: the service, its contract, and the fast tests of the kit. */
/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "<rootDir>/test/harness/environment.js",
  roots: [
    ...["unit", "store", "e2e"].map((folder) => `<rootDir>/test/${folder}`),
    ...["unit", "http"].map((folder) => `<rootDir>/kit/test/${folder}`),
  ],
  testMatch: ["**/*.test.ts"],
  transform: { "^.+\\.ts$": ["@swc/jest", { jsc: { target: "es2022", parser: { syntax: "typescript" } } }] },
  modulePathIgnorePatterns: ["<rootDir>/dist"],
  globalSetup: "<rootDir>/test/harness/global-setup.ts",
  globalTeardown: "<rootDir>/test/harness/global-teardown.ts",
  // The tests start real processes besides the workers, so two workers suit a machine with two processors.
  maxWorkers: 4,
  workerIdleMemoryLimit: "512MB",
  // Milliseconds. Only tests that hang reach this limit.
  testTimeout: 120_000,
  testSequencer: "<rootDir>/test/harness/sequencer.js",
  reporters: ["default", "<rootDir>/test/harness/running-files.js", "<rootDir>/test/harness/summary.js"],
};
