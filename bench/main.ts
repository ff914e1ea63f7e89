import { existsSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { logTail } from "../deploy/local/guarded-child";
import { StartFault } from "../deploy/local/start-fault";
import { withStolenTime } from "./cpu";
import { isMet, LIMITS } from "./limits";
import { describeMachine, machineLines } from "./machine";
import { timeFixedWork } from "./machine-speed";
import { createProgram } from "./options";
import { CheckFault, type Options, type Part, type PartResult } from "./part";
import { follow } from "./parts/follow";
import { growth } from "./parts/growth";
import { inbound, pollEmpty, pollFew, pollPage } from "./parts/http";
import { idle } from "./parts/idle";
import { isolation } from "./parts/isolation";
import { latency } from "./parts/latency";
import { list } from "./parts/list";
import { memory } from "./parts/memory";
import { mixed } from "./parts/mixed";
import { neighbours } from "./parts/neighbours";
import { publish } from "./parts/publish";
import { push } from "./parts/push";
import { retries } from "./parts/retries";
import { start } from "./parts/start";
import { createScope, type Scope } from "./scope";
import { median } from "./statistics";

/** All parts, in the order in which they run. */
const PARTS: readonly Part[] = [
  inbound,
  pollEmpty,
  pollFew,
  pollPage,
  push,
  publish,
  follow,
  latency,
  mixed,
  start,
  idle,
  retries,
  isolation,
  neighbours,
  list,
  memory,
  growth,
];

const EXIT_FAULT = 1;
/** Exit codes after a signal has stopped the benchmark: 128 plus the number of the signal, as shells report it. */
const EXIT_SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

let scope: Scope | undefined;
/** Whether a signal has arrived. Failures after the signal are not reported, because the signal has caused them. */
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

/**
 * Runs a part, and times the fixed piece of work before and after it. Adds to the last line the speed of the machine
 * and of its memory, the time that its host took, and whether the figure is within its limit.
 */
async function judgePart(
  part: Part,
  options: Options,
): Promise<PartResult & { readonly workMs: readonly number[] }> {
  const before = timeFixedWork();
  const { result, stolenPercent } = await withStolenTime(() => runPart(part, options));
  const workMs = [before, timeFixedWork()];
  const { figure, lastLine, memoryMs = [], costs = [] } = result;
  const limit = options.against === undefined ? LIMITS[part.name] : undefined;
  const words = [
    lastLine,
    `speed=${workMs.map((ms) => ms.toFixed(0)).join("/")}`,
    ...(memoryMs.length === 0
      ? []
      : [`memory=${Math.min(...memoryMs).toFixed(1)}/${median(memoryMs).toFixed(1)}`]),
    `stolen=${stolenPercent.toFixed(1)}`,
    ...(limit === undefined || figure === undefined
      ? []
      : [`met=${isMet(figure, limit, { workMs, memoryMs, costs })}`]),
  ];
  return { ...result, lastLine: words.join(" "), workMs };
}

/** Returns the last log lines of core and of the edge, to show why a part failed. */
function troubleOf({ logFiles }: Scope): readonly string[] {
  const told = logFiles.filter((file) => /-(core|edge)\.log$/.test(file) && existsSync(file));
  return told.flatMap((file) => [`${file} ended with:`, logTail(file)]);
}

async function run(parts: readonly Part[], options: Options): Promise<void> {
  const { json, slices, rounds, seconds, scale } = options;
  const machine = await describeMachine();
  for (const line of machineLines(machine)) say(line);
  const results: { part: string; summary: string; workMs: readonly number[]; raw: unknown }[] = [];
  for (const part of parts) {
    const { lastLine, workMs, raw } = await judgePart(part, options);
    results.push({ part: part.name, summary: lastLine, workMs, raw });
    const figures = { at: new Date().toISOString(), machine, slices, rounds, seconds, scale, results };
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`);
    say(lastLine);
  }
  if (results.length > 1) {
    say("");
    for (const { part, summary } of results) say(`${part.padEnd(12)} ${summary}`);
  }
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

// This process has little to do while a worker measures latency. V8 would then collect garbage, on a processor that the
// service needs.
setFlagsFromString("--no-memory-reducer");

createProgram(PARTS, run)
  .parseAsync()
  .then(
    () => process.exit(0),
    (error: unknown) => {
      if (ending) return;
      const expected = error instanceof CheckFault || error instanceof StartFault;
      const { message, stack } = error instanceof Error ? error : new Error(String(error));
      process.stderr.write(`${expected ? message : (stack ?? message)}\n`);
      process.exit(EXIT_FAULT);
    },
  );
