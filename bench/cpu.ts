import { readdirSync, readFileSync } from "node:fs";

/** Process ids, by the name of the process. */
export type Pids = Readonly<Record<string, number>>;

/** Processor times in µs, by the name of the process. */
export type CpuTimes = Readonly<Record<string, number>>;

/** The processor times of a process since its start. */
export interface CpuReading {
  /** Time of all threads, in µs. Linux counts this time in ticks of a hundredth of a second. */
  readonly ticksUs: number;
  /** Exact times of the running threads in µs, by thread id; undefined if the kernel does not report them. */
  readonly threadsUs?: ReadonlyMap<string, number>;
}

/** Linux reports times in ticks of a hundredth of a second, whatever the frequency of the kernel's timer is. */
const US_PER_TICK = 10_000;
const NS_PER_US = 1_000;

/**
 * Calls `run`. Resolves with the result of `run`, and with the processor time that each process took during `run`. The
 * time is NaN if /proc is missing or the process has exited.
 */
export async function withCpu<T>(
  pids: Pids,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly times: CpuTimes }> {
  const before = Object.entries(pids).map(([name, pid]) => [name, pid, readProcess(pid)] as const);
  const result = await run();
  const times = before.map(([name, pid, from]) => [name, cpuBetween(from, readProcess(pid))]);
  return { result, times: Object.fromEntries(times) as CpuTimes };
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
  const { result, times } = await withCpu(pids, run);
  return { result, percent: divided(times, (Date.now() - fromMs) * 10) };
}

export function sumOf(times: CpuTimes): number {
  return Object.values(times).reduce((sum, us) => sum + us, 0);
}

/** Divides each time by `count`. */
export function divided(times: CpuTimes, count: number): CpuTimes {
  return Object.fromEntries(Object.entries(times).map(([name, us]) => [name, us / count]));
}

/**
 * Returns the processor time between two readings of a process, in µs. Exact times exist only for running threads, so
 * the result is computed from the ticks if a thread has ended.
 */
export function cpuBetween(from: CpuReading, to: CpuReading): number {
  const [before, after] = [from.threadsUs, to.threadsUs];
  if (before === undefined || after === undefined || [...before.keys()].some((id) => !after.has(id)))
    return to.ticksUs - from.ticksUs;
  return [...after].reduce((sum, [id, us]) => sum + us - (before.get(id) ?? 0), 0);
}

function readProcess(pid: number): CpuReading {
  try {
    return { ticksUs: readTicks(pid), ...readThreads(pid) };
  } catch {
    return { ticksUs: NaN };
  }
}

function readTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name can contain spaces and parentheses, so fields are counted from the end of the name. The 12th
  // field after the name is the user time, and the 13th is the system time.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * US_PER_TICK;
}

function readThreads(pid: number): Pick<CpuReading, "threadsUs"> {
  try {
    const folder = `/proc/${pid}/task`;
    // The first field is the time on a processor, in ns. The schedstat file of a process contains only the time of its
    // first thread.
    const times = readdirSync(folder).map((id): [string, number] => [
      id,
      Number(readFileSync(`${folder}/${id}/schedstat`, "utf8").split(" ", 1)[0]) / NS_PER_US,
    ]);
    return times.some(([, us]) => Number.isNaN(us)) ? {} : { threadsUs: new Map(times) };
  } catch {
    // The kernel was built without scheduler statistics, or a thread ended while it was read.
    return {};
  }
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
  // The fields are user, nice, system, idle, iowait, irq, softirq and steal. Later fields are already included in user
  // and nice.
  const times = fields.slice(0, 8).map(Number);
  if (name !== "cpu" || times.length < 8 || times.some(Number.isNaN)) return { total: 0, stolen: 0 };
  return { total: times.reduce((sum, ticks) => sum + ticks, 0), stolen: times[7] ?? 0 };
}
