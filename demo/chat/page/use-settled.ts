import { useEffect, useState } from "preact/hooks";

/**
 * Milliseconds for which new buttons ignore presses, because the second tap of a double tap could hit a button that the
 * member has not read.
 */
const SETTLE_MS = 500;

/** Returns whether `key` has not changed for `SETTLE_MS`. */
export function useSettled(key: string | number): boolean {
  const [settled, setSettled] = useState<typeof key | undefined>(undefined);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(key), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      setSettled(undefined);
    };
  }, [key]);
  return settled === key;
}
