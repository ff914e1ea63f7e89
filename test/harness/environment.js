const { ok } = require("node:assert");
const { TestEnvironment } = require("jest-environment-node");

/** Milliseconds after a file's last test within which the file must close its connections, timers and processes. */
const CLOSED_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

/**
 * The test file that this jest worker ran before the current file. If the earlier file starts a timer after its last
 * test, the timer is reported for the current file.
 */
let previous = "no file";

/**
 * The environment of all test files. A file fails if it leaves connections, servers, timers or processes open. An open
 * handle would keep the jest worker alive after its last file, and could disturb later files of the same worker.
 */
module.exports = class Environment extends TestEnvironment {
  #before = [];
  #file;
  #hasFailed = false;

  constructor(config, context) {
    super(config, context);
    this.#file = context.testPath;
  }

  async setup() {
    await super.setup();
    // Node opens these streams when they are first used. They are opened here, so that they do not count as left open
    // by the file.
    ok(process.stdin && process.stdout && process.stderr);
    this.#before = process.getActiveResourcesInfo();
  }

  async handleTestEvent({ name, test }) {
    if (name === "hook_failure" || (name === "test_done" && test.errors.length > 0)) this.#hasFailed = true;
  }

  async teardown() {
    await super.teardown();
    const from = performance.now();
    for (;;) {
      const left = without(process.getActiveResourcesInfo(), this.#before);
      if (left.length === 0) break;
      if (performance.now() - from > CLOSED_WITHIN_MS) {
        const message = `the file left open: ${left.join(", ")}; before it, the worker ran ${previous}`;
        // An error here would replace the errors of the file's tests, and a failed test often leaves handles open.
        if (!this.#hasFailed) throw new Error(message);
        process.stderr.write(`${this.#file}: ${message}\n`);
        break;
      }
      // The list is read again after this timer has fired, so the timer is never in the list.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    previous = this.#file;
  }
};

/** Returns the items of `all` minus those of `known`. Each item of `known` removes one equal item. */
function without(all, known) {
  const left = [...all];
  for (const each of known) {
    const index = left.indexOf(each);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}
