const { join } = require("node:path");
const { tmpdir } = require("node:os");

// The workers inherit this variable, and append each tested fault to the file that it names. The reporter prints the
// table of faults from that file.
process.env.FAULTS_TABLE ??= join(tmpdir(), `cb-faults-${process.pid}.jsonl`);

/** The folders of each suite. The scripts in package.json select suites by these names. */
const SUITES = {
  /** `npm test`: the service, its contract, and the fast tests of the kits. */
  service: [
    "test/unit",
    "test/store",
    "test/e2e",
    "kit/test/unit",
    "kit/test/http",
    "kit/game/test/unit",
    "kit/game/test/e2e",
  ],
  /**
   * `npm run test:extras`: the dashboard, the demo, the command line, the checker, the guides, odd answers, the compose
   * file, the Helm chart, the alerts of Prometheus, `npm start`, and the comparisons of parsers on random input.
   */
  extras: [
    ...[
      "browser",
      "demo",
      "cli",
      "docs",
      "odd-answers",
      "compose",
      "helm",
      "monitoring",
      "local",
      "scripts",
      "setup",
      "fuzz",
    ].map((folder) => `test/${folder}`),
    "kit/test/check",
    "kit/test/package",
    "kit/game/test/package",
  ],
  /** `npm run test:bridges`: the bridges for real chat tools, against real chat servers. */
  bridges: ["bridges"],
  /** `npm run test:faults`: processes and servers that fail under load. */
  faults: ["test/faults"],
  /** `npm run test:neighbours`: one tenant uses as much of the service as it can, while another tenant plays. */
  neighbours: ["test/neighbours"],
  /** `npm run test:kubernetes`: the Helm chart in the cluster that `KUBECONFIG` names. */
  kubernetes: ["test/kubernetes"],
  /** `npm run test:upgrade`: upgrades from the release before, and back, under load. */
  upgrade: ["test/upgrade"],
};

/** @type {import("jest").Config} */
module.exports = {
  projects: Object.entries(SUITES).map(([displayName, folders]) => ({
    displayName,
    rootDir: __dirname,
    testEnvironment: "<rootDir>/test/harness/environment.js",
    roots: folders.map((folder) => `<rootDir>/${folder}`),
    testMatch: ["**/*.test.ts", "**/*.fault.ts"],
    transform: {
      "^.+\\.ts$": ["@swc/jest", { jsc: { target: "es2022", parser: { syntax: "typescript" } } }],
    },
    modulePathIgnorePatterns: ["<rootDir>/dist"],
    globalSetup: "<rootDir>/test/harness/global-setup.ts",
    globalTeardown: "<rootDir>/test/harness/global-teardown.ts",
  })),
  // The tests often wait for real processes, so it takes four workers to keep even two processors busy.
  maxWorkers: 4,
  workerIdleMemoryLimit: "512MB",
  // Milliseconds. Only tests that hang reach this limit.
  testTimeout: 300_000,
  testSequencer: "<rootDir>/test/harness/sequencer.js",
  reporters: [
    "default",
    "<rootDir>/test/faults/table-reporter.js",
    "<rootDir>/test/harness/running-files.js",
    "<rootDir>/test/harness/summary.js",
  ],
};
