/** A jest reporter that closes the run with one plain line. */
module.exports = class ClosingLine {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numPendingTests, testResults }) {
    // A file that could not run at all counts as one failure.
    const broken = testResults.filter(({ testExecError }) => testExecError !== undefined).length;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : "";
    process.stdout.write(`${numPassedTests} passed, ${numFailedTests + broken} failed${skipped}\n`);
  }
};
