import { join } from "node:path";

/**
 * The steps at which `killAt` can kill a bridge while the bridge handles a push. Each property's value is the
 * corresponding value of KILL_AT.
 */
export const KILL_STEPS = {
  "before the event is stored": "pushes.jsonl 1 opened",
  "while the event is stored": "pushes.jsonl 1 written",
  "after the event is stored, before the answer": "pushes.jsonl 1 synced",
  "after the chat shows the event, before the kit records this": "messages.jsonl 1 opened",
  "while the kit records that the chat shows the event": "messages.jsonl 1 written",
  "after the kit has recorded that the chat shows the event": "messages.jsonl 1 synced",
  "before the event is removed": "pushes.jsonl 2 opened",
  "while the event is removed": "pushes.jsonl 2 written",
  "after the event is removed": "pushes.jsonl 2 synced",
} as const;

/**
 * Returns environment variables that make a process die, as from `kill -9`, when the kit reaches this step of writing
 * its files.
 */
export function killAt(step: string): Record<string, string> {
  return { NODE_OPTIONS: `--require ${join(__dirname, "kill-at-preload.js")}`, KILL_AT: step };
}
