import { divided, sumOf, withCpu, type CpuTimes, type Pids } from "./cpu";
import type { Options, PartContext, PartResult } from "./part";
import { median } from "./statistics";
import { createTable } from "./table";

/** The result of one run of load. */
export interface Measure {
  /** Requests or events completed between `fromMs` and `toMs`, which are values of `Date.now()`. */
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** One side of a comparison: ours, or the reference. */
export interface Side {
  /** The processes whose processor time counts. */
  readonly pids: Pids;
  /** Sends load to this side for `seconds`. */
  run(seconds: number): Promise<Measure>;
  /** After the measurement, compares the stored or received events with the result of the run, and removes these events. */
  settle?(measure: Measure): Promise<void>;
}

export interface Contest {
  /** The unit that is counted, e.g. "requests". */
  readonly unit: string;
  /** Names of the two sides, for the head of the table. */
  readonly names?: { readonly ours: string; readonly reference: string };
  /** Prepares the warm-up or a round, e.g. signs requests. */
  prepare?(): Promise<void>;
  readonly ours: Side;
  readonly reference: Side;
}

/** The result of a run, with its rate, and each process's processor time per unit, in µs. */
export interface Figures extends Measure {
  readonly perSecond: number;
  readonly cpuUs: CpuTimes;
}

export interface Round {
  readonly ours: Figures;
  readonly reference: Figures;
  /** Our rate divided by the rate of the reference. */
  readonly ratio: number;
  /** Our processor time per unit divided by the reference's processor time per unit. */
  readonly cost: number;
}

const WARM_UP_SECONDS = 2;

/**
 * Each round measures the service and the reference one after the other, so that other load on the machine affects
 * both. Their order changes from round to round. Before the first round, both are warmed up for the same time.
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

/** Returns the result of a part with a reference: the median cost with its extremes, and the median ratio. */
export function resultOf(rounds: readonly Round[], more: object = {}): PartResult {
  const costs = rounds.map(({ cost }) => cost);
  const ratio = median(rounds.map((round) => round.ratio));
  const lastLine = `${spreadLine("cost", median(costs), costs)} ratio=${ratio.toFixed(3)}`;
  return { lastLine, raw: { rounds, ...more } };
}

/** Returns a line with a figure of a part, and with the minimum and maximum of `all`. */
export function spreadLine(name: string, figure: number, all: readonly number[]): string {
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return `${name}=${figure.toFixed(3)} min=${min.toFixed(3)} max=${max.toFixed(3)}`;
}
