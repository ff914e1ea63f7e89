const base = require("../../jest.config.js");

/** All tests of the kit. In the root, `npm test` runs the fast ones, and `npm run test:extras` the others. */
/** @type {import("jest").Config} */
module.exports = { ...base, rootDir: "../..", roots: ["<rootDir>/bridge/test"] };
