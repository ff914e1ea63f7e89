import { readFileSync } from "node:fs";

/** Processes by name. */
export type Pids = Readonly<Record<string, number>>;

/** Processor time, in µs, by the name of the process. */
export type CpuTimes = Readonly<Record<string, number>>;

/** All times of the processes so far, and when they were read, by Date.now(). */
export interface CpuReading {
  readonly atMs: number;
  readonly times: CpuTimes;
}

/** Linux counts in hundredths of a second, whatever the kernel's own clock. */
const US_PER_TICK = 10_000;
const READ_EVERY_MS = 20;

/**
 * Does something, and answers what it resolved to with a function that says how much processor time
 * each process took between two moments of it, by Date.now(). A run of load has a start and an end
 * that are not its own: only what lies between counts.
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

/** Does something, and answers how much of one core each process took meanwhile, in percent. */
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

/** Each of them for one of so many things. */
export function divided(times: CpuTimes, count: number): CpuTimes {
  return Object.fromEntries(Object.entries(times).map(([name, us]) => [name, us / count]));
}

/** What was taken between two moments, by readings in the order of their times; in between them as a straight line. */
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

/** Reads Linux's own count; answers none where there is no /proc. */
function readCpuTimes(pids: Pids): CpuTimes {
  try {
    return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuTime(pid)]));
  } catch {
    return {};
  }
}

function cpuTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // After the program's name, which may hold anything: state, …; user and system time are the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * US_PER_TICK;
}
