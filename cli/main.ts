#!/usr/bin/env node
import { EXIT } from "./exit-code";
import { runCli } from "./program";
import { createTerminal } from "./terminal";

// Deprecation warnings of libraries are hidden, because the user cannot act on them.
process.noDeprecation = true;

const interrupt = new AbortController();
let endsItself = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (!endsItself || interrupt.signal.aborted) process.exit(EXIT.INTERRUPTED);
    interrupt.abort();
  });
}
// The reader of stdout can close the pipe early, like `head`. This is not an error.
process.stdout.on("error", () => process.exit(EXIT.DONE));
process.stderr.on("error", () => undefined);

const cli = {
  terminal: createTerminal(process, process.env),
  environment: process.env,
  interruption() {
    endsItself = true;
    return interrupt.signal;
  },
};
void runCli(process.argv.slice(2), cli).then((code) => (process.exitCode = code));
