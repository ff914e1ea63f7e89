#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { inspect, types } from "node:util";
import { coloured, hasColour } from "../terminal-colour";
import { HELP } from "./help";
import { readCommand, type Command } from "./options";
import { checkBridge } from "./push/check-bridge";
import { checkPoller, type PollerPlace } from "./poll/check-poller";
import { createPrinter, summaryOf } from "./report";
import { MODE_WORDS, type CheckResult } from "./result";
import { NO_PROGRESS } from "./rule";
import { RULES } from "./rules";
import { checkService } from "./service/check-service";

const [BROKEN, WRONG_COMMAND, NOT_REACHED, OWN_FAULT] = [1, 2, 69, 70];
/** The exit code that a shell reports for SIGPIPE: 128 plus the signal's number. */
const NOBODY_READS = 141;

for (const stream of [process.stdout, process.stderr]) {
  // The reader of the output may close the pipe early, as `head` does.
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    process.exit(code === "EPIPE" ? NOBODY_READS : OWN_FAULT);
  });
}

async function main(): Promise<number> {
  const command = readCommand(process.argv.slice(2), process.env);
  switch (command.is) {
    case "help":
      process.stdout.write(HELP);
      return 0;
    case "version":
      process.stdout.write(`${versionText()}\n`);
      return 0;
    case "list":
      for (const side of command.of) {
        process.stdout.write(`Rules for a ${MODE_WORDS[side]}:\n`);
        for (const { id, says } of RULES[side]) process.stdout.write(`  ${id.padEnd(20)} ${says}\n`);
      }
      return 0;
    case "wrong":
      for (const fault of command.faults) process.stderr.write(`${failed()} ${fault}\n`);
      process.stderr.write("chat-bridge-check --help lists all options\n");
      return WRONG_COMMAND;
    case "bridge":
    case "poller":
    case "service": {
      const result = await check(command);
      process.stdout.write(
        command.json ? `${JSON.stringify(result, undefined, 2)}\n` : summaryOf(result, isColoured()),
      );
      if (result.ok) return 0;
      return result.rules.some(({ verdict }) => verdict === "failed") ? BROKEN : NOT_REACHED;
    }
  }
}

function isColoured(): boolean {
  return hasColour(process.stdout, process.env);
}

/** Returns the beginning of an error message. */
function failed(): string {
  const name = "chat-bridge-check:";
  return hasColour(process.stderr, process.env) ? coloured("bad", name) : name;
}

/** Returns the output of `--version`, with the version of the kit's package. */
function versionText(): string {
  const text = readFileSync(require.resolve("chat-bridge-kit/package.json"), "utf8");
  const { name, version } = JSON.parse(text) as Readonly<Record<"name" | "version", string>>;
  return `chat-bridge-check ${version} (package ${name})`;
}

function check(command: Extract<Command, { readonly json: boolean }>): Promise<CheckResult> {
  const { json } = command;
  const progress = json ? NO_PROGRESS : createPrinter(process.stdout, process.stderr, isColoured());
  if (command.is === "poller") {
    // The output of --json contains only the result.
    const onListening = (place: PollerPlace) =>
      void (json ? process.stderr : process.stdout).write(wordsOf(place));
    return checkPoller({ ...command.options, progress, onListening });
  }
  if (!json) process.stdout.write(`Checking ${command.options.url.href}\n\n`);
  return command.is === "bridge"
    ? checkBridge({ ...command.options, progress })
    : checkService({ ...command.options, progress });
}

function wordsOf({ baseUrl, workspace }: PollerPlace): string {
  return [
    "Start your bridge without a saved cursor, with these values and the same secret:",
    `  base URL   ${baseUrl}`,
    `  workspace  ${workspace}`,
    "",
    "",
  ].join("\n");
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    if (types.isNativeError(error) && "syscall" in error && error.syscall === "listen") {
      process.stderr.write(`${failed()} ${error.message}; give another address with --listen\n`);
      process.exitCode = NOT_REACHED;
      return;
    }
    process.stderr.write(`${failed()} internal error: ${inspect(error)}\n`);
    process.exitCode = OWN_FAULT;
  },
);
