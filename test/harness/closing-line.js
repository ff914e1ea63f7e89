/**
 * A jest reporter that prints the totals on one plain line, after all other reporters. CLOSING_LINE=off omits the
 * line.
 */
module.exports = class ClosingLine {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, testResults }) {
    if (process.env.CLOSING_LINE === "off") return;
    // A test file that could not run at all counts as one failure.
    const broken = testResults.filter(({ testExecError }) => testExecError != null).length;
    const failed = numFailedTests + broken;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    process.once("exit", () =>
      process.stdout.write(`${numPassedTests} passed, ${failed} failed${skipped}\n`),
    );
  }
};
