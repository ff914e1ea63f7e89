import { once } from "node:events";
import type { AttackName } from "../neighbours/attacks";
import { startAttack, type AttackOptions } from "../neighbours/start-attack";
import { addUp } from "../neighbours/tally";
import type { Taken } from "../neighbours/hostile/hostile";
import { serveWorker } from "../worker";

/** Attacks in their own process. */
export type AttackerWorker = typeof calls;

interface Order extends Omit<AttackOptions, "signal"> {
  readonly name: AttackName;
  readonly seconds: number;
}

const calls = {
  /** Attacks for `seconds`: repeats an attack that keeps nothing, and otherwise keeps what the attack got. */
  async attack({ name, seconds, ...options }: Order): Promise<Pick<Taken, "accepted" | "refused">> {
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

serveWorker(calls);
