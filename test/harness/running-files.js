const { writeFileSync } = require("node:fs");
const { relative } = require("node:path");

/**
 * A jest reporter. Keeps the names of the test files that are running, one per line, in the file RUNNING_FILES. If a run
 * is stopped, `scripts/check.ts` reports these files.
 */
module.exports = class RunningFiles {
  #running = new Set();

  onTestFileStart({ path }) {
    this.#running.add(relative(process.cwd(), path));
    this.#write();
  }

  onTestFileResult({ path }) {
    this.#running.delete(relative(process.cwd(), path));
    this.#write();
  }

  #write() {
    const file = process.env.RUNNING_FILES;
    if (file) writeFileSync(file, [...this.#running].join("\n"));
  }
};
