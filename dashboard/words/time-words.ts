const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns how far a time is from `nowMs`, in the largest unit that fits: "just now", "3 min ago", "in 2 h". */
export function fromNow(atMs: number, nowMs: number): string {
  const far = Math.abs(nowMs - atMs);
  if (far < 2 * SECOND_MS) return "just now";
  const words = duration(far);
  return atMs <= nowMs ? `${words} ago` : `in ${words}`;
}

/** Returns a duration in the largest unit that fits: "45 s", "3 min", "2 h", "5 days". */
export function duration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  const days = Math.floor(ms / DAY_MS);
  return `${days} ${days === 1 ? "day" : "days"}`;
}

/** Returns the exact time in UTC, for comparison with logs. */
export function exactUtc(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11).replace("Z", "")} UTC`;
}
