/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "node",
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
  transform: { "^.+\\.ts$": ["@swc/jest", { jsc: { target: "es2022", parser: { syntax: "typescript" } } }] },
  modulePathIgnorePatterns: ["<rootDir>/dist"],
  globalSetup: "<rootDir>/test/harness/global-setup.ts",
  // Two workers on a two-core machine: the tests start real processes beside them.
  maxWorkers: 2,
  workerIdleMemoryLimit: "512MB",
  testTimeout: 30_000,
  reporters: ["default", "summary", "<rootDir>/test/harness/closing-line.js"],
};
