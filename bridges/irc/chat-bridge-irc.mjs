#!/usr/bin/env node
// The command chat-bridge-irc: runs the compiled program.
await import("./dist/main.js");
