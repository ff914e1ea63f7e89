#!/usr/bin/env node
// The command chat-bridge-xmpp: runs the compiled program. In a checkout, compiles the program first if necessary.
import { existsSync } from "node:fs";

/** The exit code `EX_CONFIG` of sysexits.h. */
const NOT_SET_UP = 78;
const main = new URL("dist/main.js", import.meta.url);
const compiler = new URL("../compile.mjs", import.meta.url);

// The published package is compiled, and does not contain the compiler.
if (!existsSync(main) && existsSync(compiler)) {
  const { compileBridge } = await import(compiler.href);
  compileBridge("chat-bridge-xmpp");
}
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write(
    "chat-bridge-xmpp is not compiled: run `npm run build --workspaces --if-present` first\n",
  );
  process.exitCode = NOT_SET_UP;
}
