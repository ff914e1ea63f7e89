const { appendFileSync } = require("node:fs");

/** A jest reporter that closes the run with one plain line, after all others have had their say; for a run of several, it keeps the counts in TOTALS_FILE, too. */
module.exports = class ClosingLine {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, testResults }) {
    // A file that could not run at all counts as one failure.
    const broken = testResults.filter(({ testExecError }) => testExecError != null).length;
    const failed = numFailedTests + broken;
    const { TOTALS_FILE } = process.env;
    if (TOTALS_FILE) appendFileSync(TOTALS_FILE, `${JSON.stringify({ passed: numPassedTests, failed })}\n`);
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    process.once("exit", () =>
      process.stdout.write(`${numPassedTests} passed, ${failed} failed${skipped}\n`),
    );
  }
};
