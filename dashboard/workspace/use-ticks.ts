import { useState } from "preact/hooks";
import type { Tick, Ticks } from "../words/next-steps";

export interface UsedTicks {
  readonly ticks: Ticks;
  /** Whether this browser has stored the steps of the workspace, even if the user has confirmed none. */
  readonly begun: boolean;
  tick(which: Tick): void;
}

const NONE: Ticks = { stored: false, checked: false };
const keyOf = (id: string): string => `next-steps-${id}`;

/** The steps that the user has confirmed for a workspace. The browser's local storage keeps these ticks. */
export function useTicks(id: string): UsedTicks {
  const [ticks, setTicks] = useState(() => readTicks(id));
  return {
    ticks: ticks ?? NONE,
    begun: ticks !== undefined,
    tick(which) {
      const next = { ...(ticks ?? NONE), [which]: true };
      setTicks(next);
      storeTicks(id, next);
    },
  };
}

/** Records that the workspace was connected in this browser. */
export function beginTicks(id: string): void {
  storeTicks(id, NONE);
}

function readTicks(id: string): Ticks | undefined {
  try {
    const stored = localStorage.getItem(keyOf(id));
    return stored === null ? undefined : { ...NONE, ...(JSON.parse(stored) as Partial<Ticks>) };
  } catch {
    return undefined;
  }
}

function storeTicks(id: string, ticks: Ticks): void {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify(ticks));
  } catch {
    // Storage is blocked, so the ticks last until the page is closed.
  }
}
