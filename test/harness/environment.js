const { ok } = require("node:assert");
const { TestEnvironment } = require("jest-environment-node");

/** Milliseconds after a file's tests in which its connections, timers and processes must be closed. */
const CLOSED_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** The file that this jest worker ran before: a timer that a file starts after its end counts for the next file. */
let previous = "no file";

/**
 * The environment of all test files. A file fails if it leaves connections, servers, timers or processes open. An open
 * handle would keep the jest worker alive at its end, and could disturb later files of the same worker.
 */
module.exports = class Environment extends TestEnvironment {
  #before = [];
  #file;

  constructor(config, context) {
    super(config, context);
    this.#file = context.testPath;
  }

  async setup() {
    await super.setup();
    // Node opens these streams at their first use, which is not a handle that the file leaves open.
    ok(process.stdin && process.stdout && process.stderr);
    this.#before = process.getActiveResourcesInfo();
  }

  async teardown() {
    await super.teardown();
    const from = performance.now();
    for (;;) {
      const left = without(process.getActiveResourcesInfo(), this.#before);
      if (left.length === 0) break;
      if (performance.now() - from > CLOSED_WITHIN_MS) {
        throw new Error(`the file left open: ${left.join(", ")}; before it, the worker ran ${previous}`);
      }
      // The timer of this pause must not be in the list.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    previous = this.#file;
  }
};

/** Returns the items of `all` without those of `known`, each of which removes one item. */
function without(all, known) {
  const left = [...all];
  for (const each of known) {
    const index = left.indexOf(each);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}
