const base = require("./jest.config.js");

/** The tests of `npm run test:bridges`: the bridges for real chat tools, against real chat servers. */
/** @type {import("jest").Config} */
module.exports = {
  ...base,
  roots: ["<rootDir>/bridges"],
};
