#!/usr/bin/env node
// What `npx chat-bridge` runs: the built command, or words on how to build it.
import { existsSync } from "node:fs";

/** Of sysexits.h: something is not set up. */
const NOT_SET_UP = 78;
const main = new URL("../dist/cli/main.js", import.meta.url);

if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write("chat-bridge is not built: run `npm run build` in this project, then try again.\n");
  process.exitCode = NOT_SET_UP;
}
