import { useEffect, useState } from "preact/hooks";
import type { WorkspacePage } from "../../proto/json/shapes";
import { api } from "../api";
import { useLoad, type Loaded } from "../use-load";

/**
 * The user's place in the list of workspaces. Session storage keeps this place while the user views a single workspace.
 */
interface Place {
  readonly size: number;
  /** Page tokens of the previous pages. */
  readonly trail: readonly string[];
  readonly after: string;
}

const PLACE_KEY = "workspaces-place";
const FIRST: Place = { size: 25, trail: [], after: "" };

export interface WorkspacePages extends Omit<Place, "after"> {
  readonly page: Loaded<WorkspacePage>;
  /** Number of the page, from 1. */
  readonly number: number;
  goNext(after: string): void;
  goBack(): void;
  goFirst(): void;
  setSize(size: number): void;
}

export function useWorkspacePages(): WorkspacePages {
  const [place, setPlace] = useState(readPlace);
  const { size, trail, after } = place;
  const page = useLoad(
    (signal, asked) => api.list({ after, size, search: "" }, signal, asked),
    [after, size],
  );
  useEffect(() => sessionStorage.setItem(PLACE_KEY, JSON.stringify(place)), [place]);
  return {
    page,
    size,
    trail,
    number: trail.length + 1,
    goNext: (next) => setPlace({ size, trail: [...trail, after], after: next }),
    goBack: () => setPlace({ size, trail: trail.slice(0, -1), after: trail.at(-1) ?? "" }),
    goFirst: () => setPlace({ ...FIRST, size }),
    setSize: (wanted) => setPlace({ ...FIRST, size: wanted }),
  };
}

function readPlace(): Place {
  try {
    return { ...FIRST, ...(JSON.parse(sessionStorage.getItem(PLACE_KEY) ?? "{}") as Partial<Place>) };
  } catch {
    return FIRST;
  }
}
