import type { TestProcess } from "./processes";
import { until } from "./wait";

/** Ten seconds, and what a busy machine may add between the signal and the end. */
const STOP_WITHIN_MS = 12_000;

/** Stops a process and answers its exit code; fails when it takes longer than it may. */
export async function stopInTime(
  target: TestProcess,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<number | null> {
  const began = performance.now();
  const code = await target.stop(signal);
  expect(performance.now() - began).toBeLessThan(STOP_WITHIN_MS);
  return code;
}

/** Waits until a process has said that it is stopping. */
export function untilStopping(target: TestProcess): Promise<boolean> {
  return until("it is stopping", () => target.log.some(({ msg }) => msg === "stopping"));
}
