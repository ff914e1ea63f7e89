import { LRUCache } from "lru-cache";
import type { Input } from "./rules/input";
import type { Output } from "./rules/output";
import { nextTickAt, play } from "./rules/play";
import { EMPTY_WORKSPACE, type Rules, type Workspace } from "./rules/workspace-state";

/** The states of all workspaces, and the timers of their games. */
export interface Workspaces {
  /** Plays an input; returns the outputs in order. */
  play(workspaceId: string, input: Input): readonly Output[];
  forget(workspaceId: string): void;
  /** Ends every game and stops all timers; returns the outputs. */
  close(): readonly { readonly workspaceId: string; readonly outputs: readonly Output[] }[];
}

export interface WorkspacesOptions {
  readonly rules: Rules;
  /** Returns the time in ms since the epoch; must never go back. */
  readonly now: () => number;
  /** Called with the outputs of a tick. */
  readonly onTick: (workspaceId: string, outputs: readonly Output[]) => void;
}

/** Number of workspaces that are remembered. The longest unused is dropped first, with its games. */
const WORKSPACES_MAX = 5_000;

interface Entry {
  state: Workspace;
  timer: NodeJS.Timeout | undefined;
}

export function createWorkspaces({ rules, now, onTick }: WorkspacesOptions): Workspaces {
  const entries = new LRUCache<string, Entry>({
    max: WORKSPACES_MAX,
    dispose: ({ timer }) => clearTimeout(timer),
  });

  function step(workspaceId: string, input: Input): readonly Output[] {
    let entry = entries.get(workspaceId);
    if (entry === undefined) entries.set(workspaceId, (entry = { state: EMPTY_WORKSPACE, timer: undefined }));
    const { workspace, outputs } = play(rules, entry.state, input, now());
    entry.state = workspace;
    setTimer(workspaceId, entry);
    return outputs;
  }

  function setTimer(workspaceId: string, entry: Entry): void {
    clearTimeout(entry.timer);
    const atMs = nextTickAt(entry.state);
    if (atMs === Infinity) return;
    const tick = (): void => onTick(workspaceId, step(workspaceId, { type: "tick" }));
    entry.timer = setTimeout(tick, Math.max(1, Math.ceil(atMs - now())));
  }

  return {
    play: step,
    forget: (workspaceId) => void entries.delete(workspaceId),
    close() {
      const ended = [...entries.keys()].map((workspaceId) => ({
        workspaceId,
        outputs: step(workspaceId, { type: "closing" }),
      }));
      entries.clear();
      return ended;
    },
  };
}
