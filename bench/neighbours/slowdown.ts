import { median, spreadOf } from "../statistics";
import type { Kind, Outcomes } from "./neighbour";

/** The kind of call whose p99 grows most, with its p99 without and with the attack, in ms. */
interface Worst {
  readonly kind: Kind | "none";
  readonly aloneMs: number;
  readonly besideMs: number;
}

/** How much an attack slows down a tenant. */
export interface Slowdown {
  /**
   * The p99 of all the tenant's calls during the attack, divided by their p99 without the attack. `Infinity` if all
   * calls of a kind were refused during the attack.
   */
  readonly ratio: number;
  readonly worst: Worst;
}

/**
 * Minimum number of accepted calls without the attack. A kind of call with fewer accepted calls is never `worst`,
 * because its p99 would simply be its slowest call.
 */
const CALLS_MIN = 20;

/**
 * Compares a tenant's calls during an attack with the same tenant's calls without the attack. Each latency is divided
 * by the median latency of that kind of call without the attack. So calls of all kinds can be combined, and there are
 * enough calls for a p99.
 */
export function slowdownOf(alone: Outcomes, beside: Outcomes): Slowdown {
  const kinds = (Object.keys(alone) as Kind[]).filter((kind) => alone[kind].latenciesMs.length > 0);
  const p99Of = (outcomes: Outcomes): number => {
    const relative = (kind: Kind): readonly number[] => {
      const usual = median(alone[kind].latenciesMs);
      return outcomes[kind].latenciesMs.map((ms) => ms / usual);
    };
    return spreadOf(kinds.flatMap(relative)).p99;
  };
  const worst = worstOf(alone, beside);
  const ratio = worst.besideMs === Infinity ? Infinity : p99Of(beside) / p99Of(alone);
  return { ratio, worst };
}

function worstOf(alone: Outcomes, beside: Outcomes): Worst {
  let worst: Worst = { kind: "none", aloneMs: NaN, besideMs: NaN };
  for (const kind of Object.keys(alone) as Kind[]) {
    const [one, other] = [spreadOf(alone[kind].latenciesMs), spreadOf(beside[kind].latenciesMs)];
    if (one.count < CALLS_MIN) continue;
    const besideMs = other.count === 0 ? Infinity : other.p99;
    if (!(besideMs / one.p99 <= worst.besideMs / worst.aloneMs)) worst = { kind, aloneMs: one.p99, besideMs };
  }
  return worst;
}
