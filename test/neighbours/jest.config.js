const base = require("../../jest.config.js");

/** The tests of `npm run test:neighbours`: one tenant takes all that it can, beside a tenant that plays. */
/** @type {import("jest").Config} */
module.exports = { ...base, rootDir: "../..", roots: ["<rootDir>/test/neighbours"], testTimeout: 300_000 };
