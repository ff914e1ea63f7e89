import { spreadOf } from "../statistics";
import type { Kind, Outcomes } from "./neighbour";

/** The kind of calls that an attack slows down most. The p99 values are in ms. */
export interface Worst {
  readonly kind: Kind | "none";
  readonly aloneMs: number;
  readonly besideMs: number;
  /** The p99 beside the attack divided by the p99 without the attack. */
  readonly ratio: number;
}

/** A kind with fewer accepted calls without the attack does not count, because its p99 would be the slowest of few calls. */
const CALLS_MIN = 20;

/**
 * Returns the kind with the highest ratio. The ratio is `Infinity` if no call of the kind was accepted beside the attack,
 * and `NaN` if there are too few calls of every kind.
 */
export function worstOf(alone: Outcomes, beside: Outcomes): Worst {
  let worst: Worst = { kind: "none", aloneMs: NaN, besideMs: NaN, ratio: NaN };
  for (const kind of Object.keys(alone) as Kind[]) {
    const [one, other] = [spreadOf(alone[kind].latenciesMs), spreadOf(beside[kind].latenciesMs)];
    if (one.count < CALLS_MIN) continue;
    const ratio = other.count === 0 ? Infinity : other.p99 / one.p99;
    if (!(ratio <= worst.ratio)) worst = { kind, aloneMs: one.p99, besideMs: other.p99, ratio };
  }
  return worst;
}
