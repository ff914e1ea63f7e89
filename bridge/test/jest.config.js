const base = require("../../jest.config.js");

/** All tests of the kit. In the root, `npm test` runs the fast tests, and `npm run test:extras` the other tests. */
/** @type {import("jest").Config} */
module.exports = { ...base, rootDir: "../..", roots: ["<rootDir>/bridge/test"] };
