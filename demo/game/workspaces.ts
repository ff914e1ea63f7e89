import { LRUCache } from "lru-cache";
import type { Input, Output } from "./rules/input-output";
import { nextTickAt, play } from "./rules/play";
import { emptyWorkspace, type Rules, type Workspace } from "./rules/workspace";

export interface WorkspacesOptions {
  readonly rules: Rules;
  /** Called with the outputs that no member causes: the outputs of ticks and of the shutdown. */
  readonly onOwn: (workspaceId: string, outputs: readonly Output[]) => void;
}

/** Maximum number of workspaces in memory. The least recently used workspace is dropped first, with its games. */
const WORKSPACES_MAX = 5_000;

interface Entry {
  readonly workspace: Workspace;
  timer: NodeJS.Timeout | undefined;
}

/** Keeps the states of all workspaces, and runs the timers of their games. */
export function createWorkspaces({ rules, onOwn }: WorkspacesOptions) {
  const entries = new LRUCache<string, Entry>({
    max: WORKSPACES_MAX,
    dispose: ({ timer }) => clearTimeout(timer),
  });
  // Unlike `Date.now`, this clock never goes back.
  const now = (): number => performance.timeOrigin + performance.now();

  function step(workspaceId: string, input: Input): readonly Output[] {
    const entry: Entry = entries.get(workspaceId) ?? { workspace: emptyWorkspace(), timer: undefined };
    entries.set(workspaceId, entry);
    const outputs = play(rules, entry.workspace, input, now());
    clearTimeout(entry.timer);
    const atMs = nextTickAt(entry.workspace);
    const tick = (): void => onOwn(workspaceId, step(workspaceId, { type: "tick" }));
    if (atMs < Infinity) entry.timer = setTimeout(tick, Math.max(1, Math.ceil(atMs - now())));
    return outputs;
  }

  return {
    /** Applies an input, and returns the outputs in order. */
    play: step,
    forget: (workspaceId: string): void => void entries.delete(workspaceId),
    /** Ends every game and stops all timers. */
    close(): void {
      // The ids are copied first, because `step` moves its workspace to the end of the cache.
      const ids = [...entries.keys()];
      for (const id of ids) onOwn(id, step(id, { type: "closing" }));
      entries.clear();
    },
  };
}
