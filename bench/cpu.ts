import { readFileSync } from "node:fs";

/** Process ids, by the name of the process. */
export type Pids = Readonly<Record<string, number>>;

/** Processor times in µs, by the name of the process. */
export type CpuTimes = Readonly<Record<string, number>>;

/** The processor times of the processes at `atMs`, which is a value of `Date.now()`. */
export interface CpuReading {
  readonly atMs: number;
  readonly times: CpuTimes;
}

/**
 * Linux reports processor times in hundredths of a second. This unit does not depend on the frequency of the kernel's
 * timer.
 */
const US_PER_TICK = 10_000;
const READ_EVERY_MS = 20;

/**
 * Calls `run`. Resolves with the result of `run`, and with a function that returns the processor time of each process
 * between two moments, which are values of `Date.now()`. So callers can exclude the start and the end of a load.
 */
export async function withCpu<T>(
  pids: Pids,
  run: () => Promise<T>,
): Promise<{ readonly result: T; cpuBetween(fromMs: number, toMs: number): CpuTimes }> {
  const readings: CpuReading[] = [];
  const read = (): void => {
    readings.push({ atMs: Date.now(), times: readCpuTimes(pids) });
  };
  read();
  const reader = setInterval(read, READ_EVERY_MS);
  try {
    const result = await run();
    return { result, cpuBetween: (fromMs, toMs) => between(readings, fromMs, toMs) };
  } finally {
    clearInterval(reader);
    read();
  }
}

/**
 * Calls `run`. Resolves with the result of `run`, and with each process's processor time as a percentage of one
 * processor.
 */
export async function withCpuPercent<T>(
  pids: Pids,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly percent: CpuTimes }> {
  const fromMs = Date.now();
  const { result, cpuBetween } = await withCpu(pids, run);
  const toMs = Date.now();
  return { result, percent: divided(cpuBetween(fromMs, toMs), (toMs - fromMs) * 10) };
}

export function sumOf(times: CpuTimes): number {
  return Object.values(times).reduce((sum, us) => sum + us, 0);
}

/** Divides each time by `count`. */
export function divided(times: CpuTimes, count: number): CpuTimes {
  return Object.fromEntries(Object.entries(times).map(([name, us]) => [name, us / count]));
}

/**
 * Returns the processor time between two moments, with linear interpolation between the readings. `readings` must be
 * chronological.
 */
export function between(readings: readonly CpuReading[], fromMs: number, toMs: number): CpuTimes {
  const [from, to] = [timesAt(readings, fromMs), timesAt(readings, toMs)];
  return Object.fromEntries(Object.entries(to).map(([name, us]) => [name, us - (from[name] ?? 0)]));
}

function timesAt(readings: readonly CpuReading[], atMs: number): CpuTimes {
  const next = readings.find((reading) => reading.atMs >= atMs) ?? readings.at(-1);
  const last = readings.findLast((reading) => reading.atMs <= atMs) ?? readings[0];
  if (next === undefined || last === undefined) return {};
  const share = next.atMs > last.atMs ? (atMs - last.atMs) / (next.atMs - last.atMs) : 0;
  return Object.fromEntries(
    Object.entries(last.times).map(([name, us]) => [name, us + ((next.times[name] ?? us) - us) * share]),
  );
}

/** Returns the processor times from /proc. Returns no times if /proc is missing or a process has exited. */
function readCpuTimes(pids: Pids): CpuTimes {
  try {
    return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuTime(pid)]));
  } catch {
    return {};
  }
}

function cpuTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name can contain spaces and parentheses, so fields are counted from the end of the name. The 12th
  // field after the name is the user time, and the 13th is the system time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * US_PER_TICK;
}

/** Processor times of the whole machine since its start, in ticks. */
export interface MachineTimes {
  readonly total: number;
  /** Time during which this virtual machine waited because its host ran something else. */
  readonly stolen: number;
}

/**
 * Calls `run`. Resolves with the result of `run`, and with the percentage of the machine's processor time that the host
 * took during `run`. The percentage is 0 on a machine that does not report the time that the host took.
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

/** Returns the times in the first line of /proc/stat, which are the sums over all processors. */
export function parseMachineTimes(stat: string): MachineTimes {
  const [name, ...fields] = stat.split("\n", 1)[0]?.trim().split(/\s+/) ?? [];
  // user, nice, system, idle, iowait, irq, softirq and steal. The fields after these are already included in user and
  // nice.
  const times = fields.slice(0, 8).map(Number);
  if (name !== "cpu" || times.length < 8 || times.some(Number.isNaN)) return { total: 0, stolen: 0 };
  return { total: times.reduce((sum, ticks) => sum + ticks, 0), stolen: times[7] ?? 0 };
}
