import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import type { AttackName } from "../neighbours/attacks";
import { startAttack, type AttackOptions, type Started } from "../neighbours/start-attack";
import { addUp } from "../neighbours/tally";
import type { Taken } from "../neighbours/hostile/hostile";
import { serveWorker } from "../worker";

/** The calls of a worker that runs attacks in a separate process. */
export type AttackerWorker = typeof calls;

type Order = Omit<AttackOptions, "signal"> & { readonly name: AttackName };
type Counted = Pick<Taken, "accepted" | "refused">;

const { PRIORITY_LOW } = constants.priority;
/**
 * On Linux, the file with the priority of this process's session relative to other sessions. Missing in kernels without
 * `CONFIG_SCHED_AUTOGROUP`.
 */
const AUTOGROUP = "/proc/self/autogroup";

let begun: Started | undefined;

const calls = {
  /** Makes an attack once. The attacker keeps its streams, sessions and connections open until `release`. */
  async begin({ name, ...options }: Order): Promise<Counted> {
    begun = await startAttack(name, { ...options, signal: new AbortController().signal });
    const { accepted, refused } = begun;
    return { accepted, refused };
  },

  async release(_input: undefined): Promise<void> {
    await begun?.release();
  },

  /**
   * Attacks for `seconds`. An attack that keeps streams or other resources open runs once; other attacks are repeated.
   */
  async attack({ name, seconds, ...options }: Order & { readonly seconds: number }): Promise<Counted> {
    const signal = AbortSignal.timeout(seconds * 1000);
    const all: Taken[] = [];
    while (!signal.aborted) {
      const taken = await startAttack(name, { ...options, signal });
      all.push(taken);
      if (taken.keeps && !signal.aborted) await once(signal, "abort");
      await taken.release();
    }
    return addUp(all);
  },
};

/**
 * A real attacker uses separate processors, so the attack must not take processor time from the service. If Linux
 * groups processes by session, the priority of a process counts only within its session. So the session gets a low
 * priority too.
 */
function lowerPriority(): void {
  setPriority(PRIORITY_LOW);
  if (!existsSync(AUTOGROUP)) return;
  try {
    writeFileSync(AUTOGROUP, String(PRIORITY_LOW));
  } catch {
    process.stderr.write(
      `cannot write ${AUTOGROUP}, so the attack may take processor time from the service\n`,
    );
  }
}

lowerPriority();
serveWorker(calls);
