// Node preloads this file before the program under test. The program then believes that it is the build in OTHER_BUILD.
const fs = require("node:fs");
const { readFileSync } = fs;

fs.readFileSync = (path, ...options) =>
  String(path).endsWith("build.json") ? process.env.OTHER_BUILD : readFileSync(path, ...options);
