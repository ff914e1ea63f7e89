import { LRUCache } from "lru-cache";
import type { Input, Output } from "./rules/input-output";
import { nextTickAt, play } from "./rules/play";
import { EMPTY_WORKSPACE, type Rules, type Workspace } from "./rules/workspace";

/** The states of all workspaces, and the timers of their games. */
export interface Workspaces {
  /** Plays an input; returns the outputs in order. */
  play(workspaceId: string, input: Input): readonly Output[];
  forget(workspaceId: string): void;
  /** Ends every game and stops all timers. Calls `onOwn` with the outputs. */
  close(): void;
}

export interface WorkspacesOptions {
  readonly rules: Rules;
  /** Called with the outputs that no member caused: those of a tick and of the shutdown. */
  readonly onOwn: (workspaceId: string, outputs: readonly Output[]) => void;
}

/** Number of workspaces that are remembered. The longest unused is dropped first, with its games. */
const WORKSPACES_MAX = 5_000;

interface Entry {
  state: Workspace;
  timer: NodeJS.Timeout | undefined;
}

export function createWorkspaces({ rules, onOwn }: WorkspacesOptions): Workspaces {
  const entries = new LRUCache<string, Entry>({
    max: WORKSPACES_MAX,
    dispose: ({ timer }) => clearTimeout(timer),
  });
  // A clock that never goes back, unlike Date.now.
  const now = (): number => performance.timeOrigin + performance.now();

  function step(workspaceId: string, input: Input): readonly Output[] {
    const entry = entries.get(workspaceId) ?? { state: EMPTY_WORKSPACE, timer: undefined };
    const { workspace, outputs } = play(rules, entry.state, input, now());
    clearTimeout(entry.timer);
    const atMs = nextTickAt(workspace);
    const tick = (): void => onOwn(workspaceId, step(workspaceId, { type: "tick" }));
    const timer = atMs === Infinity ? undefined : setTimeout(tick, Math.max(1, Math.ceil(atMs - now())));
    entries.set(workspaceId, { state: workspace, timer });
    return outputs;
  }

  return {
    play: step,
    forget: (workspaceId) => void entries.delete(workspaceId),
    close() {
      for (const id of [...entries.keys()]) onOwn(id, step(id, { type: "closing" }));
      entries.clear();
    },
  };
}
