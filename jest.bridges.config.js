const base = require("./jest.config.js");

/** The tests of `npm run test:bridges`: the bridges for real chat tools, against real chat servers. */
/** @type {import("jest").Config} */
module.exports = {
  ...base,
  roots: ["<rootDir>/bridges"],
  // These tests often wait for a chat server, so more workers than in the other suites use both processors fully.
  maxWorkers: 6,
};
