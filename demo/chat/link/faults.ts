import { randomBytes } from "node:crypto";
import type { Timing } from "../../../kit/back-off";
import type { SecretLookup } from "../../../kit/secrets";
import type { SecretList } from "../../../kit/signature";
import type { Break } from "../shapes";

/** Milliseconds by which a broken clock is behind. The contract allows a difference of five minutes. */
const CLOCK_BEHIND_MS = 6 * 60_000;

/** The secret and the clock for one direction: pushes, or reports and polls. */
export interface Direction {
  readonly secrets: SecretLookup;
  readonly timing: Timing;
}

/**
 * Returns the secret and the clock that the bridge uses. A break can begin for pushes first, so that a last report
 * still causes an event, which the bridge then rejects.
 */
export function createFaults(secret: SecretList, timing: Timing) {
  const now: { pushes: Break | undefined; reports: Break | undefined } = {
    pushes: undefined,
    reports: undefined,
  };
  const wrong = randomBytes(32).toString("hex");
  const direction = (name: keyof typeof now): Direction => ({
    secrets: () => (now[name] === "secret" ? wrong : secret),
    timing: { ...timing, now: () => timing.now() - (now[name] === "clock" ? CLOCK_BEHIND_MS : 0) },
  });
  return {
    pushes: direction("pushes"),
    /** The secret and the clock for reports and polls. */
    reports: direction("reports"),
    begin(name: keyof typeof now, how: Break): void {
      now[name] = how;
    },
    end(): void {
      now.pushes = undefined;
      now.reports = undefined;
    },
  };
}
