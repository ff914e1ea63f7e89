import type { Logger } from "pino";

const AGAIN_MS = 60_000;
/** Maximum number of reasons that are remembered. */
const REASONS_MAX = 16;

/**
 * Returns a function that returns whether to log a reason: true for a reason that was not logged in the last minute.
 *
 * @param now returns monotonic time in milliseconds
 */
export function oncePerMinute(now: () => number = () => performance.now()): (reason: string) => boolean {
  const loggedAt = new Map<string, number>();
  return (reason) => {
    const at = now();
    if (at - (loggedAt.get(reason) ?? -Infinity) < AGAIN_MS) return false;
    const [oldest] = loggedAt.keys();
    if (loggedAt.size >= REASONS_MAX && oldest !== undefined) loggedAt.delete(oldest);
    loggedAt.set(reason, at);
    return true;
  };
}

export interface OutageLogOptions {
  readonly log: Logger;
  readonly level: "warn" | "error";
  /** The messages when the outage begins, and when it is over. */
  readonly lost: string;
  readonly back: string;
  /** Fields of the first message, e.g. the address of the service that fails. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Returns monotonic time in milliseconds; needed only by tests. */
  readonly now?: () => number;
}

/**
 * Logs the outages of a service that the process needs: one line per reason and minute while the outage lasts, and one
 * line with its duration when the service works again.
 */
export function createOutageLog({
  log,
  level,
  lost,
  back,
  facts = {},
  now = () => performance.now(),
}: OutageLogOptions) {
  /** When the outage began; undefined while the service works. */
  let outage: { readonly since: number; isLogged(reason: string): boolean } | undefined;

  return {
    /** Must be called when a call to the service has failed. `reason` must contain no secret. */
    failed(reason: string): void {
      outage ??= { since: now(), isLogged: oncePerMinute(now) };
      if (outage.isLogged(reason)) log[level]({ ...facts, reason }, lost);
    },
    /** Must be called when a call to the service has succeeded. */
    works(): void {
      if (outage === undefined) return;
      log.info({ seconds: Math.round((now() - outage.since) / 100) / 10 }, back);
      outage = undefined;
    },
  };
}
