import { useEffect, useState } from "preact/hooks";

/** Returns the current time in ms since the epoch, and updates it every `everyMs` ms. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(tick);
  }, [everyMs]);
  return now;
}
