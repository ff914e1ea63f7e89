import type { TestProcess } from "./processes";
import { until } from "./wait";

/** Stops a process and answers its exit code, which is not 0 when it could not close within ten seconds. */
export function stopInTime(target: TestProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
  return target.stop(signal);
}

/** Waits until a process has said that it is stopping. */
export function untilStopping({ log }: TestProcess): Promise<boolean> {
  return until("it is stopping", () => log.some(({ msg }) => msg === "stopping"));
}
