#!/usr/bin/env node
// The command chat-bridge-xmpp: runs the compiled program, or prints how to compile the program.
import { existsSync } from "node:fs";

/** The exit code `EX_CONFIG` of sysexits.h. */
const NOT_SET_UP = 78;
const main = new URL("dist/main.js", import.meta.url);

if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write(
    "chat-bridge-xmpp is not compiled: run `npm run build --workspaces --if-present` first\n",
  );
  process.exitCode = NOT_SET_UP;
}
