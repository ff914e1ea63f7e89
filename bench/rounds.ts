import { cpuEach, type CpuTimes } from "./cpu";
import type { PartContext, PartResult } from "./part";
import { median } from "./statistics";
import { createTable } from "./table";

/** What one run of load came to. */
export interface Measure {
  readonly perSecond: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Processor time of each of the service's processes for one of what is counted, µs. */
  readonly cpuUs?: CpuTimes;
}

export interface Round {
  readonly ours: Measure;
  readonly reference: Measure;
  readonly ratio: number;
}

export interface Contest {
  /** What is counted, such as "requests". */
  readonly unit: string;
  /** What the columns are about. */
  readonly names?: { readonly ours: string; readonly reference: string };
  /** Made ready before each round, such as requests signed just now. */
  prepare?(): Promise<void>;
  /** Processor time that the service has taken so far. */
  cpuTimes?(): CpuTimes;
  ours(seconds: number): Promise<Measure>;
  reference(seconds: number): Promise<Measure>;
}

const WARM_UP_SECONDS = 2;

/**
 * Measures ours and the reference in turn, so that whatever else the machine does
 * meets both; who comes first changes from round to round. Each is warmed up
 * once before.
 */
export async function alternate(
  { say, options }: Pick<PartContext, "say" | "options">,
  { unit, names = { ours: "ours", reference: "reference" }, prepare, cpuTimes, ours, reference }: Contest,
): Promise<readonly Round[]> {
  const measureOurs = async (seconds: number): Promise<Measure> => {
    const before = cpuTimes?.();
    const measure = await ours(seconds);
    if (before === undefined || cpuTimes === undefined) return measure;
    return { ...measure, cpuUs: cpuEach(before, cpuTimes(), measure.perSecond * seconds) };
  };
  await prepare?.();
  const warmUp = Math.min(WARM_UP_SECONDS, options.seconds);
  const warm = await measureOurs(warmUp);
  await reference(warmUp);

  const timed = warm.p50Ms !== undefined;
  const head = (name: string) => [`${name} ${unit}/s`, ...(timed ? ["p50 ms", "p99 ms"] : [])];
  const processes = Object.keys(warm.cpuUs ?? {});
  const row = createTable(say, [
    "round",
    ...head(names.ours),
    ...processes.map((name) => `${name} µs each`),
    ...head(names.reference),
    "ratio",
  ]);
  const rounds: Round[] = [];
  for (let number = 1; number <= options.rounds; number++) {
    await prepare?.();
    const first = number % 2 === 1 ? await measureOurs(options.seconds) : undefined;
    const other = await reference(options.seconds);
    const mine = first ?? (await measureOurs(options.seconds));
    const round = { ours: mine, reference: other, ratio: mine.perSecond / other.perSecond };
    rounds.push(round);
    const cpu = processes.map((name) => (mine.cpuUs?.[name] ?? NaN).toFixed(0));
    row([number, ...cells(mine), ...cpu, ...cells(other), round.ratio.toFixed(3)]);
  }
  return rounds;
}

function cells({ perSecond, p50Ms, p99Ms }: Measure): readonly string[] {
  const times = p50Ms === undefined || p99Ms === undefined ? [] : [p50Ms.toFixed(2), p99Ms.toFixed(2)];
  return [perSecond.toFixed(0), ...times];
}

/** The result of a part whose rounds say it all. */
export function resultOf(rounds: readonly Round[], more: object = {}): PartResult {
  const ratios = rounds.map(({ ratio }) => ratio);
  return { lastLine: ratioLine(median(ratios), ratios), raw: { rounds, ...more } };
}

export function ratioLine(ratio: number, ratios: readonly number[]): string {
  const [min, max] = [Math.min(...ratios), Math.max(...ratios)];
  return `ratio=${ratio.toFixed(3)} min=${min.toFixed(3)} max=${max.toFixed(3)}`;
}
