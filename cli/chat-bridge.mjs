#!/usr/bin/env node
// The entry point of `npx chat-bridge`: runs the built command, or says how to build the command.
import { existsSync } from "node:fs";

/** The exit code `EX_CONFIG` of sysexits.h. */
const NOT_SET_UP = 78;
const main = new URL("../dist/cli/main.js", import.meta.url);

if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write("chat-bridge is not built: run `npm run build` in this project first\n");
  process.exitCode = NOT_SET_UP;
}
