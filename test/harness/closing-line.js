/** A jest reporter that closes the run with one plain line, after all others have had their say. */
module.exports = class ClosingLine {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, testResults }) {
    // A file that could not run at all counts as one failure.
    const broken = testResults.filter(({ testExecError }) => testExecError != null).length;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    process.once("exit", () =>
      process.stdout.write(`${numPassedTests} passed, ${numFailedTests + broken} failed${skipped}\n`),
    );
  }
};
