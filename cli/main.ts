#!/usr/bin/env node
import { EXIT } from "./exit-code";
import { runCli } from "./run-cli";
import { createTerminal } from "./terminal";

// Of libraries: nothing that whoever runs the command could do anything about.
process.noDeprecation = true;

const interrupt = new AbortController();
let endsItself = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (!endsItself || interrupt.signal.aborted) process.exit(EXIT.INTERRUPTED);
    interrupt.abort();
  });
}
// Whoever read what we print may have gone, as head does: there is nobody left to tell.
process.stdout.on("error", () => process.exit(EXIT.DONE));
process.stderr.on("error", () => undefined);

const cli = {
  terminal: createTerminal(process),
  environment: process.env,
  interruption() {
    endsItself = true;
    return interrupt.signal;
  },
};
void runCli(process.argv.slice(2), cli).then((code) => (process.exitCode = code));
