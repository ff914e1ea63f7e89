import { existsSync, writeFileSync } from "node:fs";
import { logTail } from "../local/guarded-child";
import { StartFault } from "../local/start-fault";
import { describeMachine, machineLines, type Machine } from "./machine";
import { readOptions, UsageFault, type Options } from "./options";
import { CheckFault, type Part, type PartResult } from "./part";
import { PARTS } from "./parts/all";
import { profileLines } from "./profile";
import { createScope, type Scope } from "./scope";

const HELP = `Measures the speed and the cost of the service on this machine.

  npm run bench                    every part
  npm run bench -- <part> …        some of them

${PARTS.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join("\n")}

  --rounds N     number of rounds; each measures the service and the reference (3)
  --seconds N    seconds of load for each of them in a round (8)
  --scale N      factor for the sizes of memory and growth, at most 1 (1)
  --json FILE    write the raw figures and the machine's properties to FILE
  --profile DIR  write CPU profiles of core and the edge to DIR; this slows them

Each part starts its own Redis, core and edge on loopback, and removes everything
afterwards. Redis writes durably. See bench/README.md for what each part compares.
`;

const EXIT_FAULT = 1;
const EXIT_USAGE = 2;
/** The exit codes that shells use for a program ended by a signal. */
const EXIT_SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

let scope: Scope | undefined;
/** Whether a signal has arrived; later failures are its consequences and are not reported. */
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

/** Returns the last log lines of core and the edge of a part that failed. */
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
  throw new UsageFault(`unknown part ${name}; the parts are ${PARTS.map((each) => each.name).join(", ")}`);
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
