const base = require("./jest.config.js");

/** What `npm run test:extras` runs: the programs around the service, in a browser and on the command line. */
/** @type {import("jest").Config} */
module.exports = {
  ...base,
  roots: ["browser", "demo", "cli", "check", "docs", "compose", "local", "scripts"].map(
    (folder) => `<rootDir>/test/${folder}`,
  ),
};
