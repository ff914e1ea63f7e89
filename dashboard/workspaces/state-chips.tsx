import { stateLabel, WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import type { StateCounts } from "../../proto/json/shapes";
import { Link } from "../router";
import { totalOf } from "../words/list-words";
import { TONES } from "../words/health-words";

/** Returns the path of the list of workspaces, with its filters. */
export function listPath(state: WorkspaceState | undefined, search: string): string {
  const query = new URLSearchParams({ ...(state && { state }), ...(search !== "" && { search }) });
  return query.size === 0 ? "/" : `/?${query}`;
}

export interface StateChipsProps {
  /** Null while the counts are unknown. */
  readonly counts: StateCounts | null;
  readonly state: WorkspaceState | undefined;
  readonly search: string;
}

/** Shows a link to each state's list of workspaces, with the number of workspaces. */
export function StateChips({ counts, state, search }: StateChipsProps) {
  // Few installations have workspaces without a bridge, so the state `native` is shown only when it is needed.
  const shown = WORKSPACE_STATES.filter(
    (each) => each !== "native" || state === each || (counts?.native ?? 0) > 0,
  );
  return (
    <nav class="chips" aria-label="States">
      <Chip
        label="All"
        count={counts && totalOf(counts)}
        href={listPath(undefined, search)}
        isCurrent={state === undefined}
      />
      {shown.map((each) => (
        <Chip
          key={each}
          label={stateLabel(each)}
          count={counts && counts[each]}
          href={listPath(each, search)}
          isCurrent={state === each}
          tone={each === "disconnected" || each === "native" ? "idle" : TONES[each]}
        />
      ))}
    </nav>
  );
}

interface ChipProps {
  readonly label: string;
  readonly count: number | null;
  readonly href: string;
  readonly isCurrent: boolean;
  readonly tone?: string;
}

function Chip({ label, count, href, isCurrent, tone }: ChipProps) {
  const isTinted = tone !== undefined && count !== null && count > 0;
  return (
    <Link
      class={`chip${isTinted ? ` tone-${tone}` : ""}`}
      href={href}
      {...(isCurrent ? { "aria-current": "page" as const } : {})}
    >
      {isTinted && <span class="dot" aria-hidden="true" />}
      {label} <span class="chip-count">{count === null ? "–" : count.toLocaleString("en")}</span>
    </Link>
  );
}
