import type { Logger } from "pino";

const AGAIN_MS = 60_000;
const KEYS_MAX = 16;

/**
 * Returns a function that says whether to log a key, e.g. the reason for an outage. The function returns true if the
 * key was not logged in the last minute.
 *
 * @param keysMax maximum number of keys that are remembered
 * @param now returns monotonic time in milliseconds
 */
export function oncePerMinute(keysMax = KEYS_MAX, now = () => performance.now()): (key: string) => boolean {
  /** Time at which each key was last logged, oldest first. */
  const loggedAt = new Map<string, number>();
  return (key) => {
    const at = now();
    if (at - (loggedAt.get(key) ?? -Infinity) < AGAIN_MS) return false;
    loggedAt.delete(key);
    const [oldest] = loggedAt.keys();
    if (loggedAt.size >= keysMax && oldest !== undefined) loggedAt.delete(oldest);
    loggedAt.set(key, at);
    return true;
  };
}

export interface OutageLogOptions {
  readonly log: Logger;
  readonly level: "warn" | "error";
  /** The message that is logged while the outage lasts. */
  readonly lost: string;
  /** The message that is logged when the service works again. */
  readonly back: string;
  /** Fields that are logged with the message `lost`, e.g. the address of the failing service. */
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
      outage ??= { since: now(), isLogged: oncePerMinute(KEYS_MAX, now) };
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
