import type { Settings } from "./settings";

/** Reads `DRAIN_SECONDS`. Returns the milliseconds between SIGTERM and the closing of the listeners. */
export function readDrainMs(settings: Settings): number {
  const what = "seconds after SIGTERM for which the process is not ready, but still answers requests";
  return 1_000 * settings.integer("DRAIN_SECONDS", what, { min: 0, max: 60 }, 0);
}
