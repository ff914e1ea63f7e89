const base = require("../../jest.config.js");

/** All tests of the kit. In the root folder, `npm test` runs the fast tests, and `npm run test:extras` runs the others. */
/** @type {import("jest").Config} */
module.exports = { ...base, rootDir: "../..", roots: ["<rootDir>/kit/test"] };
