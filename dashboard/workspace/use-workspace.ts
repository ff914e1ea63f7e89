import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkspaceShape } from "../../proto/json/shapes";
import { NOTHING_SHOWN, WorkspaceWatch, type ShownWorkspace } from "./workspace-watch";

export interface WatchedWorkspace extends ShownWorkspace {
  /** Shows the changed workspace, and reads its other data again. */
  changed(workspace: WorkspaceShape): void;
}

/** Returns the current state of a workspace. While the page is visible, a stream reports changes. */
export function useWorkspace(id: string): WatchedWorkspace {
  const [state, setState] = useState(NOTHING_SHOWN);
  const watch = useRef<WorkspaceWatch | undefined>(undefined);
  useEffect(() => {
    watch.current = new WorkspaceWatch(id, (change) =>
      setState((before) => (typeof change === "function" ? change(before) : { ...before, ...change })),
    );
    return watch.current.start();
  }, [id]);
  return {
    ...state,
    changed(workspace) {
      setState((before) => ({ ...before, workspace }));
      watch.current?.reread();
    },
  };
}
