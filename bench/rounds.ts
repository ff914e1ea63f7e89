import { divided, sumOf, withCpu, type CpuTimes, type Pids } from "./cpu";
import type { Options } from "./options";
import type { PartContext, PartResult } from "./part";
import { median } from "./statistics";
import { createTable } from "./table";

/** What one run of load came to. */
export interface Measure {
  /** How many requests or events were done between two moments, by Date.now(). */
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** What is measured: ours, or the reference. */
export interface Side {
  /** The processes whose time it costs. */
  readonly pids: Pids;
  /** Loads it for so long. */
  run(seconds: number): Promise<Measure>;
  /** Compares what a run left behind with what it did, and removes it. Nothing of this is measured. */
  settle?(measure: Measure): Promise<void>;
}

export interface Contest {
  /** What is counted, such as "requests". */
  readonly unit: string;
  /** What the columns are about. */
  readonly names?: { readonly ours: string; readonly reference: string };
  /** Made ready before each round, such as requests signed just now. */
  prepare?(): Promise<void>;
  readonly ours: Side;
  readonly reference: Side;
}

/** A run with its rate, and the processor time that each process took for one of what is counted, µs. */
export interface Figures extends Measure {
  readonly perSecond: number;
  readonly cpuUs: CpuTimes;
}

export interface Round {
  readonly ours: Figures;
  readonly reference: Figures;
  /** The rate of ours divided by that of the reference. */
  readonly ratio: number;
  /** The processor time of ours for one divided by that of the reference. */
  readonly cost: number;
}

const WARM_UP_SECONDS = 2;

/**
 * Measures ours and the reference in turn, so that whatever else the machine does
 * meets both; who comes first changes from round to round. Each is warmed up
 * once before, for as long.
 */
export async function alternate(
  { say, options }: Pick<PartContext, "say"> & { readonly options: Pick<Options, "rounds" | "seconds"> },
  { unit, names = { ours: "ours", reference: "reference" }, prepare, ours, reference }: Contest,
): Promise<readonly Round[]> {
  await prepare?.();
  const warmUp = Math.min(WARM_UP_SECONDS, options.seconds);
  const [warmOurs, warmReference] = [await measure(ours, warmUp), await measure(reference, warmUp)];

  const head = (name: string, { p50Ms, cpuUs }: Figures) => [
    `${name} ${unit}/s`,
    ...(p50Ms === undefined ? [] : ["p50 ms", "p99 ms"]),
    ...Object.keys(cpuUs).map((process) => `${process} µs each`),
  ];
  const row = createTable(say, [
    "round",
    ...head(names.ours, warmOurs),
    ...head(names.reference, warmReference),
    "cost",
    "ratio",
  ]);
  const rounds: Round[] = [];
  for (let number = 1; number <= options.rounds; number++) {
    await prepare?.();
    const first = number % 2 === 1 ? await measure(ours, options.seconds) : undefined;
    const theirs = await measure(reference, options.seconds);
    const mine = first ?? (await measure(ours, options.seconds));
    const round = {
      ours: mine,
      reference: theirs,
      ratio: mine.perSecond / theirs.perSecond,
      cost: sumOf(mine.cpuUs) / sumOf(theirs.cpuUs),
    };
    rounds.push(round);
    row([number, ...cells(mine), ...cells(theirs), round.cost.toFixed(3), round.ratio.toFixed(3)]);
  }
  return rounds;
}

async function measure({ pids, run, settle }: Side, seconds: number): Promise<Figures> {
  const { result, cpuBetween } = await withCpu(pids, () => run(seconds));
  await settle?.(result);
  const { count, fromMs, toMs } = result;
  const perSecond = (count * 1000) / (toMs - fromMs);
  return { ...result, perSecond, cpuUs: divided(cpuBetween(fromMs, toMs), count) };
}

function cells({ perSecond, p50Ms, p99Ms, cpuUs }: Figures): readonly string[] {
  const times = p50Ms === undefined || p99Ms === undefined ? [] : [p50Ms.toFixed(2), p99Ms.toFixed(2)];
  return [perSecond.toFixed(0), ...times, ...Object.values(cpuUs).map((us) => us.toFixed(1))];
}

/** The result of a part whose rounds say it all: what ours costs, and how fast it is, against the reference. */
export function resultOf(rounds: readonly Round[], more: object = {}): PartResult {
  const costs = rounds.map(({ cost }) => cost);
  const ratio = median(rounds.map((round) => round.ratio));
  const lastLine = `${spreadLine("cost", median(costs), costs)} ratio=${ratio.toFixed(3)}`;
  return { lastLine, raw: { rounds, ...more } };
}

/** A figure of a part, with the least and the greatest of those that it was taken from. */
export function spreadLine(name: string, figure: number, all: readonly number[]): string {
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return `${name}=${figure.toFixed(3)} min=${min.toFixed(3)} max=${max.toFixed(3)}`;
}
