import { readFileSync } from "node:fs";

/** Processor times of the whole machine since its start, in ticks. */
export interface MachineTimes {
  readonly total: number;
  /** The time for which the host of this virtual machine ran something else. */
  readonly stolen: number;
}

/**
 * Calls `run`. Resolves with the result of `run`, and with the percentage of the machine's processor time that the host
 * took meanwhile. The percentage is 0 on a machine that reports none.
 */
export async function withStolenTime<T>(
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly stolenPercent: number }> {
  const before = readMachineTimes();
  const result = await run();
  const after = readMachineTimes();
  const total = after.total - before.total;
  return { result, stolenPercent: total > 0 ? ((after.stolen - before.stolen) / total) * 100 : 0 };
}

function readMachineTimes(): MachineTimes {
  try {
    return parseMachineTimes(readFileSync("/proc/stat", "utf8"));
  } catch {
    return { total: 0, stolen: 0 };
  }
}

/** Returns the times in the first line of /proc/stat, which is the sum of all processors. */
export function parseMachineTimes(stat: string): MachineTimes {
  const [name, ...fields] = stat.split("\n", 1)[0]?.trim().split(/\s+/) ?? [];
  // user, nice, system, idle, iowait, irq, softirq and steal. The later fields are parts of the first two.
  const times = fields.slice(0, 8).map(Number);
  if (name !== "cpu" || times.length < 8 || times.some(Number.isNaN)) return { total: 0, stolen: 0 };
  return { total: times.reduce((sum, ticks) => sum + ticks, 0), stolen: times[7] ?? 0 };
}
