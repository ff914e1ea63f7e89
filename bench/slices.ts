import { setTimeout as sleep } from "node:timers/promises";
import { countInstructions, countsInstructions, type InstructionCounter } from "./instructions";
import { divided, sumOf, withCpu, type CpuTimes, type Pids } from "./cpu";
import { timeMemory } from "./memory-speed";
import type { Options, PartContext, PartResult } from "./part";
import { median, quartilesOf } from "./statistics";
import { createTable } from "./table";

/** The result of one slice of load. */
export interface Measure {
  /** Requests or events completed between `fromMs` and `toMs`, which are values of `Date.now()`. */
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** One side of a comparison: the service of this checkout ("ours"), or the reference. */
export interface Side {
  /** The processes whose processor time counts. */
  readonly pids: Pids;
  /** Prepares a slice, e.g. signs its requests. */
  prepare?(seconds: number): Promise<void>;
  /** Sends load to this side for `seconds`, and resolves when the side has handled all of it. */
  run(seconds: number): Promise<Measure>;
  /** After the measurement, compares the stored or received events with the result of the run, and removes these events. */
  settle?(measure: Measure): Promise<void>;
}

export interface Contest {
  /** The unit that is counted, e.g. "requests". */
  readonly unit: string;
  /** Names of the two sides, for the head of the table. */
  readonly names?: { readonly ours: string; readonly reference: string };
  /** Number of pairs of slices; by default the option `--slices`. */
  readonly pairs?: number;
  readonly ours: Side;
  readonly reference: Side;
}

/** The result of a slice, with its rate, and each process's processor time per unit, in µs. */
export interface Figures extends Measure {
  readonly perSecond: number;
  readonly cpuUs: CpuTimes;
  /** Milliseconds that the reads from memory took just before the slice: see `memory-speed.ts`. */
  readonly memoryMs: number;
}

/** Two consecutive slices, one of each side. */
export interface Pair {
  readonly ours: Figures;
  readonly reference: Figures;
  /** Our rate divided by the rate of the reference. */
  readonly ratio: number;
  /** Our processor time per unit divided by the reference's processor time per unit. */
  readonly cost: number;
}

/** The result of a comparison. */
export interface Comparison {
  readonly pairs: readonly Pair[];
  /** Instructions per unit of each side; undefined if the machine does not count them. */
  readonly instructions?: { readonly ours: number; readonly reference: number };
}

/** Seconds of load in a slice: so short that the speed of the machine rarely changes within a pair. */
export const SLICE_SECONDS = 0.5;
/**
 * Number of first pairs that do not count, because the hot code of both sides is not compiled yet. On a slow machine,
 * core was still becoming faster after the sixth pair.
 */
const WARM_UP_PAIRS = 12;
/** Milliseconds after the last answer that count, so that deferred work of a process also counts. */
const SETTLE_MS = 50;
const SHOW_EVERY = 6;

/**
 * Measures both sides in pairs of short slices. So if the machine becomes slower, both sides become slower. Each side
 * comes first in every other pair.
 */
export async function alternate(
  { scope, say, options }: Pick<PartContext, "scope" | "say"> & { readonly options: Pick<Options, "slices"> },
  {
    unit,
    names = { ours: "ours", reference: "reference" },
    pairs: count = options.slices,
    ours,
    reference,
  }: Contest,
): Promise<Comparison> {
  let counters: { readonly ours: InstructionCounter; readonly reference: InstructionCounter } | undefined;
  const measurePair = async (oursFirst: boolean): Promise<Pair> => {
    const first = oursFirst ? await measure(ours, counters?.ours) : undefined;
    const theirs = await measure(reference, counters?.reference);
    return pairOf(first ?? (await measure(ours, counters?.ours)), theirs);
  };
  for (let number = 0; number < Math.min(WARM_UP_PAIRS, count); number++) await measurePair(true);

  if (countsInstructions()) {
    const count = ({ pids }: Side) => countInstructions(scope, pids);
    counters = { ours: await count(ours), reference: await count(reference) };
  }
  const pairs: Pair[] = [];
  let row: ReturnType<typeof createTable> | undefined;
  for (let number = 1; number <= count; number++) {
    pairs.push(await measurePair(number % 2 === 1));
    if (number % SHOW_EVERY > 0 && number < count) continue;
    const latest = mediansOf(pairs.slice(-SHOW_EVERY));
    row ??= createTable(say, [
      "pairs",
      ...head(names.ours, unit, latest.ours),
      ...head(names.reference, unit, latest.reference),
      "cost",
      "ratio",
    ]);
    row([number, ...cells(latest)]);
  }
  row?.(["all", ...cells(mediansOf(pairs))]);
  const counted = await stopCounters(pairs, counters);
  say(instructionsLine(counted));
  return { pairs, ...(counted === undefined ? {} : { instructions: counted }) };
}

async function measure(
  { pids, prepare, run, settle }: Side,
  counter: InstructionCounter | undefined,
): Promise<Figures> {
  await prepare?.(SLICE_SECONDS);
  const memoryMs = timeMemory();
  await counter?.resume();
  const { result, times } = await withCpu(pids, async () => {
    const measured = await run(SLICE_SECONDS);
    await sleep(SETTLE_MS);
    return measured;
  });
  await counter?.pause();
  await settle?.(result);
  const { count, fromMs, toMs } = result;
  return { ...result, perSecond: (count * 1000) / (toMs - fromMs), cpuUs: divided(times, count), memoryMs };
}

/** Stops the counters. Returns the instructions per unit; undefined if they were not counted. */
async function stopCounters(
  pairs: readonly Pair[],
  counters: { readonly ours: InstructionCounter; readonly reference: InstructionCounter } | undefined,
): Promise<Comparison["instructions"]> {
  const units = (name: "ours" | "reference") => pairs.reduce((sum, pair) => sum + pair[name].count, 0);
  const [ours, reference] = [await counters?.ours.stop(), await counters?.reference.stop()];
  if (ours === undefined || reference === undefined) return undefined;
  return { ours: ours / units("ours"), reference: reference / units("reference") };
}

function instructionsLine(counted: Comparison["instructions"]): string {
  if (counted === undefined) return "this machine does not count instructions (perf stat -e instructions:u)";
  const [ours, reference] = [counted.ours.toFixed(0), counted.reference.toFixed(0)];
  const ratio = (counted.ours / counted.reference).toFixed(3);
  return `instructions in user mode each: ours ${ours}, reference ${reference}, ratio ${ratio}`;
}

export function pairOf(ours: Figures, reference: Figures): Pair {
  return {
    ours,
    reference,
    ratio: ours.perSecond / reference.perSecond,
    cost: sumOf(ours.cpuUs) / sumOf(reference.cpuUs),
  };
}

/** The medians of a side. */
type SideMedians = Pick<Figures, "perSecond" | "p50Ms" | "p99Ms" | "cpuUs">;

/** Returns the median of each figure of the pairs. */
export function mediansOf(pairs: readonly Pair[]) {
  const side = (name: "ours" | "reference"): SideMedians => {
    const all = pairs.map((pair) => pair[name]);
    const of = (value: (figures: Figures) => number | undefined) =>
      median(all.map((each) => value(each) ?? NaN));
    const processes = Object.keys(all[0]?.cpuUs ?? {});
    return {
      perSecond: of(({ perSecond }) => perSecond),
      ...(all[0]?.p50Ms === undefined
        ? {}
        : { p50Ms: of(({ p50Ms }) => p50Ms), p99Ms: of(({ p99Ms }) => p99Ms) }),
      cpuUs: Object.fromEntries(processes.map((name) => [name, of(({ cpuUs }) => cpuUs[name])])),
    };
  };
  return {
    ours: side("ours"),
    reference: side("reference"),
    cost: median(pairs.map(({ cost }) => cost)),
    ratio: median(pairs.map(({ ratio }) => ratio)),
  };
}

function head(name: string, unit: string, { p50Ms, cpuUs }: SideMedians): readonly string[] {
  const latencies = p50Ms === undefined ? [] : ["p50 ms", "p99 ms"];
  return [`${name} ${unit}/s`, ...latencies, ...Object.keys(cpuUs).map((process) => `${process} µs each`)];
}

function cells({ ours, reference, cost, ratio }: ReturnType<typeof mediansOf>): readonly string[] {
  const side = ({ perSecond, p50Ms, p99Ms, cpuUs }: SideMedians) => [
    perSecond.toFixed(0),
    ...(p50Ms === undefined || p99Ms === undefined ? [] : [p50Ms.toFixed(2), p99Ms.toFixed(2)]),
    ...Object.values(cpuUs).map((us) => us.toFixed(1)),
  ];
  return [...side(ours), ...side(reference), cost.toFixed(3), ratio.toFixed(3)];
}

/** Returns the result of a part with a reference: the median cost with its quartiles, and the median ratio. */
export function resultOf({ pairs, instructions }: Comparison, more: object = {}): PartResult {
  const medians = mediansOf(pairs);
  const costs = pairs.map((pair) => pair.cost);
  return {
    figure: medians.cost,
    lastLine: `${quartilesLine("cost", costs)} ratio=${medians.ratio.toFixed(3)}`,
    memoryMs: memoryTimesOf(pairs),
    costs,
    raw: { slices: pairs, medians, instructions, ...more },
  };
}

/** Returns the milliseconds that the reads from memory took before each slice of the pairs. */
export function memoryTimesOf(pairs: readonly Pair[]): readonly number[] {
  return pairs.flatMap(({ ours, reference }) => [ours.memoryMs, reference.memoryMs]);
}

/** Returns a line with the median and the quartiles of a figure. */
export function quartilesLine(name: string, all: readonly number[]): string {
  const [q1, q2, q3] = quartilesOf(all).map((value) => value.toFixed(3));
  return `${name}=${q2} q1=${q1} q3=${q3}`;
}
