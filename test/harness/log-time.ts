import { keyOf, type TestStore } from "./store";

/**
 * Milliseconds by which tests set their clock ahead, because Redis never assigns ids that are earlier than its own
 * clock.
 */
const AHEAD_MS = 30 * 24 * 3_600_000;

/**
 * Gives new entries in the logs of deliveries the time of a stopped clock. If the clock is set back, new entries get
 * the latest time so far, as in Redis.
 */
export function logTimes(store: TestStore, clock: { readonly us: number; pass(us: number): Promise<void> }) {
  const latest = new Map<string, number>();
  return {
    /** Sets the clock ahead. Call this function before the first workspace is created. */
    setAhead: () => clock.pass(AHEAD_MS * 1_000),
    /** Must be called before each new entry of the workspace's log. */
    async apply(id: string): Promise<void> {
      const nowMs = Math.floor(clock.us / 1_000);
      const lastMs = latest.get(id) ?? 0;
      if (nowMs <= lastMs) return;
      const key = keyOf(store, id, "log");
      if (lastMs > 0) await store.redis.command("", ["XSETID", key, `${nowMs}-1`]);
      else {
        await store.redis.command("", ["XADD", key, `${nowMs}-1`, "d", "x"]);
        await store.redis.command("", ["XDEL", key, `${nowMs}-1`]);
      }
      latest.set(id, nowMs);
    },
  };
}
