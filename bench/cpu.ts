import { readFileSync } from "node:fs";

/** Processor time that processes have taken so far, in µs, by name. */
export type CpuTimes = Readonly<Record<string, number>>;

/** Linux counts in hundredths of a second, whatever the kernel's own clock. */
const US_PER_TICK = 10_000;

/** Reads Linux's own count; answers none where there is no /proc. */
export function readCpuTimes(pids: Readonly<Record<string, number>>): CpuTimes {
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

/** What was taken between two readings, for each of `count` things. */
export function cpuEach(before: CpuTimes, after: CpuTimes, count: number): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([name, us]) => [name, (us - (before[name] ?? 0)) / count]),
  );
}
