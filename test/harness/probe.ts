import { send } from "./bridge";
import { BUILD } from "./build";
import type { RunningProcess } from "./processes";
import { until } from "./wait";

export const LIVE = [200, { live: true }];
export const READY = [200, { ready: true, ...BUILD }];
export const notReady = (reason: string) => [503, { ready: false, reason, ...BUILD }];

/** Returns the status and body of a probe, or undefined while nothing listens on the port. */
export async function probe({ healthPort }: Pick<RunningProcess, "healthPort">, path: string) {
  const answer = await send(`http://127.0.0.1:${healthPort}`, path).catch(() => undefined);
  return answer && [answer.status, answer.json];
}

/** Waits until a process answers `/ready` with this status, and returns the status and the body. */
export function untilReadiness(process: Pick<RunningProcess, "healthPort">, status: number) {
  return until(`readiness is ${status}`, async () => {
    const answer = await probe(process, "/ready");
    return answer?.[0] === status && answer;
  });
}
