import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { Pids } from "./cpu";
import type { Scope } from "./scope";

/** Counts the instructions that the processes of one side execute during that side's slices. */
export interface InstructionCounter {
  /** Resolves when the counter is running. */
  resume(): Promise<void>;
  /** Resolves when the counter is paused. */
  pause(): Promise<void>;
  /** Stops the counter. Returns the number of instructions; undefined if `perf` did not report it. */
  stop(): Promise<number | undefined>;
}

const EVENT = "instructions:u";
/** Separator of the fields in perf's report. */
const SEPARATOR = ";";

/**
 * Returns whether this machine counts instructions: `perf` must be installed and permitted, and the processor must have
 * the counter.
 */
export function countsInstructions(perf = "perf"): boolean {
  const { stderr } = spawnSync(perf, ["stat", "-x", SEPARATOR, "-e", EVENT, "true"], { encoding: "utf8" });
  return instructionsIn(stderr ?? "") !== undefined;
}

/** Returns the number in a report of `perf stat -x`; undefined if the event was not counted. */
export function instructionsIn(report: string): number | undefined {
  const line = report.split("\n").find((each) => each.split(SEPARATOR)[2] === EVENT);
  const count = Number(line?.split(SEPARATOR)[0] || NaN);
  return Number.isFinite(count) ? count : undefined;
}

/**
 * Starts one `perf stat` for all slices of a side. perf counts only between the commands "enable" and "disable", which
 * it confirms. Starting perf for each slice would take longer than a slice.
 */
export async function countInstructions(
  scope: Scope,
  pids: Pids,
  perf = "perf",
): Promise<InstructionCounter> {
  const to = ["-x", SEPARATOR, "-e", EVENT, "-p", Object.values(pids).join(",")];
  const child = spawn(perf, ["stat", "-D", "-1", "--control", "fd:3,4", ...to], {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  await scope.own(child, (each) => void each.kill("SIGKILL"));
  const closed = once(child, "close");
  const [commands, confirmations] = child.stdio.slice(3) as [Duplex, Duplex];
  let report = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (report += text));
  for (const stream of [commands, confirmations]) stream.on("error", () => undefined);

  const command = async (name: "enable" | "disable"): Promise<void> => {
    // If perf fails, it closes this stream. The measured processor times are still valid.
    const confirmed = once(confirmations, "data").catch(() => undefined);
    commands.write(`${name}\n`);
    await Promise.race([confirmed, closed]);
  };
  return {
    resume: () => command("enable"),
    pause: () => command("disable"),
    async stop() {
      child.kill("SIGINT");
      await closed;
      return instructionsIn(report);
    },
  };
}
