const { relative } = require("node:path");
const { timeFixedWork } = require("../../dist/bench/machine-speed.js");

const SLOWEST = 10;
const inSeconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/**
 * A jest reporter, which runs after all other reporters. It prints the slowest files, the duration of the run, and the
 * speed of this machine before and after the run. Its last line contains the totals as plain text. With
 * CLOSING_LINE=off, it prints only the slowest files: `scripts/check.ts` then prints the rest once for all runs.
 */
module.exports = class Summary {
  #isWhole = process.env.CLOSING_LINE !== "off";
  #began = performance.now();
  #speedBefore = 0;

  onRunStart() {
    if (this.#isWhole) this.#speedBefore = timeFixedWork();
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, testResults }) {
    const took = performance.now() - this.#began;
    const lines = ["", "Slowest files:"];
    const slowest = testResults
      .map(({ testFilePath, perfStats }) => ({ testFilePath, ms: perfStats.end - perfStats.start }))
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, SLOWEST);
    for (const { testFilePath, ms } of slowest) {
      lines.push(`${inSeconds(ms).padStart(9)}  ${relative(process.cwd(), testFilePath)}`);
    }
    if (this.#isWhole) {
      // A test file that could not run at all counts as one failure.
      const broken = testResults.filter(({ testExecError }) => testExecError != null).length;
      const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
      const speed = [this.#speedBefore, timeFixedWork()].map((ms) => `${ms.toFixed(0)} ms`).join(" before, ");
      lines.push(
        `The tests took ${inSeconds(took)}. This machine takes ${speed} after the tests for a fixed piece of work.`,
        `${numPassedTests} passed, ${numFailedTests + broken} failed${skipped}`,
      );
    }
    process.once("exit", () => process.stdout.write(`${lines.join("\n")}\n`));
  }
};
