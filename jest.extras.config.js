const base = require("./jest.config.js");

/** The tests of `npm run test:extras`: the programs around the service, in a browser and on the command line. */
/** @type {import("jest").Config} */
module.exports = {
  ...base,
  roots: [
    ...["browser", "demo", "cli", "docs", "compose", "local", "scripts"].map(
      (folder) => `<rootDir>/test/${folder}`,
    ),
    ...["check", "package"].map((folder) => `<rootDir>/bridge/test/${folder}`),
  ],
};
