import { useEffect, useState } from "preact/hooks";
import type { WorkspaceState } from "../../contract/workspace-states";
import type { WorkspacePage } from "../../proto/json/shapes";
import { api } from "../api";
import { setFailingCount } from "../failing-count";
import { useLoad, type Loaded } from "../use-load";

/**
 * The user's place in the list of workspaces. Session storage keeps this place while the user views a single workspace.
 */
interface Place {
  readonly size: number;
  /** The state whose workspaces are listed; the empty string for all states. */
  readonly state: WorkspaceState | "";
  /** Page tokens of the previous pages. */
  readonly trail: readonly string[];
  readonly after: string;
}

const PLACE_KEY = "workspaces-by-state-place";
const FIRST: Place = { size: 25, state: "", trail: [], after: "" };

export interface WorkspacePages extends Pick<Place, "size" | "trail"> {
  readonly page: Loaded<WorkspacePage>;
  /** Number of the page, from 1. */
  readonly number: number;
  goNext(after: string): void;
  goBack(): void;
  goFirst(): void;
  setSize(size: number): void;
}

export function useWorkspacePages(wanted: WorkspaceState | undefined): WorkspacePages {
  const state: Place["state"] = wanted ?? "";
  const [stored, setPlace] = useState(readPlace);
  // The address of the page says which state is listed, so a stored place in another state's list is ignored.
  const place = stored.state === state ? stored : { ...FIRST, size: stored.size, state };
  const { size, trail, after } = place;
  const page = useLoad(
    async (signal, asked) => {
      const loaded = await api.list({ after, size, search: "", state }, signal, asked);
      setFailingCount(loaded.counts);
      return loaded;
    },
    [after, size, state],
  );
  useEffect(() => sessionStorage.setItem(PLACE_KEY, JSON.stringify(place)), [size, state, after, trail]);
  return {
    page,
    size,
    trail,
    number: trail.length + 1,
    goNext: (next) => setPlace({ ...place, trail: [...trail, after], after: next }),
    goBack: () => setPlace({ ...place, trail: trail.slice(0, -1), after: trail.at(-1) ?? "" }),
    goFirst: () => setPlace({ ...FIRST, size, state }),
    setSize: (newSize) => setPlace({ ...FIRST, size: newSize, state }),
  };
}

function readPlace(): Place {
  try {
    return { ...FIRST, ...(JSON.parse(sessionStorage.getItem(PLACE_KEY) ?? "{}") as Partial<Place>) };
  } catch {
    return FIRST;
  }
}
