import { existsSync, writeFileSync } from "node:fs";
import { logTail } from "../local/guarded-child";
import { StartFault } from "../local/start-fault";
import { describeMachine, machineLines, type Machine } from "./machine";
import { readOptions, UsageFault, type Options } from "./options";
import { CheckFault, type Part, type PartResult } from "./part";
import { PARTS } from "./parts/all";
import { profileLines } from "./profile";
import { createScope, type Scope } from "./scope";

const HELP = `How fast the service is on this machine.

  npm run bench                    every part, one after the other
  npm run bench -- <part> …        some of them

${PARTS.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join("\n")}

  --rounds N     how often ours and the reference are measured, in turn (3)
  --seconds N    how long each of them is loaded each time (8)
  --scale N      what the sizes of memory and growth are multiplied by, at most 1 (1)
  --json FILE    keep the raw figures there, with what the machine is
  --profile DIR  keep CPU profiles of core and the edge there; it slows them

Each part starts a Redis that writes durably, a core and an edge of its own, all on
loopback, and leaves nothing behind. See bench/README.md for what is compared.
`;

const EXIT_FAULT = 1;
const EXIT_USAGE = 2;
/** What shells say of a program that a signal ended. */
const EXIT_SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

let scope: Scope | undefined;
/** A signal has come: whatever fails from now on fails for that. */
let ending = false;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function runPart(part: Part, options: Options): Promise<PartResult> {
  scope = createScope();
  try {
    say(`\n── ${part.name}: ${part.what}`);
    return await part.run({ scope, options, say });
  } catch (error) {
    if (!ending) for (const line of troubleOf(scope)) say(line);
    throw error;
  } finally {
    await scope.close();
  }
}

/** What the processes of a part that failed have to say. */
function troubleOf({ logFiles }: Scope): readonly string[] {
  const told = logFiles.filter((file) => /-(core|edge)\.log$/.test(file) && existsSync(file));
  return told.flatMap((file) => [`${file} ended with:`, logTail(file)]);
}

async function run(args: readonly string[]): Promise<void> {
  const { parts: names, help, options } = readOptions(args);
  if (help) return say(HELP);
  const parts = names.length === 0 ? PARTS : names.map(partOf);
  const machine = await describeMachine();
  for (const line of machineLines(machine)) say(line);
  const results: { readonly part: string; readonly summary: string; readonly raw: unknown }[] = [];
  for (const part of parts) {
    const { lastLine, raw } = await runPart(part, options);
    results.push({ part: part.name, summary: lastLine, raw });
    if (options.profile !== undefined) for (const line of profileLines(options.profile)) say(line);
    if (options.json !== undefined) keep(options.json, machine, options, results);
    say(lastLine);
  }
  if (results.length > 1) {
    say("");
    for (const { part, summary } of results) say(`${part.padEnd(12)} ${summary}`);
  }
}

function partOf(name: string): Part {
  const part = PARTS.find((each) => each.name === name);
  if (part !== undefined) return part;
  throw new UsageFault(`there is no part ${name}: there are ${PARTS.map((each) => each.name).join(", ")}`);
}

function keep(file: string, machine: Machine, options: Options, results: readonly object[]): void {
  const { rounds, seconds, scale } = options;
  const all = { at: new Date().toISOString(), machine, rounds, seconds, scale, results };
  writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`);
}

for (const [signal, code] of Object.entries(EXIT_SIGNALS)) {
  process.once(signal, () => {
    ending = true;
    void (async () => {
      await scope?.close();
      process.exit(code);
    })();
  });
}

run(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    if (ending) return;
    const expected = [UsageFault, CheckFault, StartFault].some((kind) => error instanceof kind);
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    process.stderr.write(`${expected ? message : (stack ?? message)}\n`);
    process.exit(error instanceof UsageFault ? EXIT_USAGE : EXIT_FAULT);
  },
);
