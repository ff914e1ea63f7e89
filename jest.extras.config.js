const base = require("./jest.config.js");

/**
 * The tests of `npm run test:extras`: the dashboard, the demo, the command line, the checker, the guides, odd answers,
 * the compose file, the Helm chart, `npm start`, and the comparisons of parsers on random input.
 */
/** @type {import("jest").Config} */
module.exports = {
  ...base,
  roots: [
    ...["browser", "demo", "cli", "docs", "odd-answers", "compose", "helm", "local", "scripts", "fuzz"].map(
      (folder) => `<rootDir>/test/${folder}`,
    ),
    ...["check", "package"].map((folder) => `<rootDir>/kit/test/${folder}`),
  ],
};
