import { useState } from "preact/hooks";
import { stateLabel, type WorkspaceState } from "../../contract/workspace-states";
import type { SummaryShape } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { Icon } from "../parts/icon";
import { ErrorNotice } from "../parts/notice";
import { StateChips } from "./state-chips";
import { useSearch } from "./use-search";
import { useSummaries } from "./use-summaries";
import { LoadingTable, WorkspaceTable } from "./workspace-table";

/** Number of matching workspaces that are shown at first, and added by each press of "Show more". */
const SHOWN_AT_ONCE = 50;
/** A search returns no summaries, so that it costs little. */
const NO_SUMMARIES: Readonly<Record<string, SummaryShape>> = {};

export interface FoundWorkspacesProps {
  readonly search: string;
  readonly state: WorkspaceState | undefined;
}

export function FoundWorkspaces({ search, state }: FoundWorkspacesProps) {
  const { found, lookedThrough, done, pending, error, counts: loaded, lookOn } = useSearch(search, state);
  const [shownMax, setShownMax] = useState(SHOWN_AT_ONCE);
  const shown = found.slice(0, shownMax);
  const { views, counts, error: unread } = useSummaries(shown, NO_SUMMARIES);
  const which = state === undefined ? "" : ` with the state ${stateLabel(state)}`;
  const looked = `${lookedThrough.toLocaleString("en")} ${lookedThrough === 1 ? "workspace" : "workspaces"}${which}`;
  const isKnown = (counts ?? loaded) !== null;
  return (
    <>
      <StateChips counts={counts ?? loaded} state={state} search={search} />
      {found.length === 0 && pending && <LoadingTable />}
      {found.length > 0 && (
        <WorkspaceTable
          rows={shown.map((workspace) => {
            const view = views?.[workspace.id];
            return {
              workspace: view?.workspace ?? workspace,
              summary: view === undefined ? (views === undefined ? undefined : null) : view.summary,
              isDeleted: isKnown && views !== undefined && view === undefined,
            };
          })}
          busy={pending}
          caption={`Workspaces${which} that match ${search}`}
        />
      )}
      {done && found.length === 0 && (
        <div class="empty card">
          <Icon name="search" />
          <h2>Nothing matches</h2>
          <p>
            No workspace{which} has “{search}” in its name, id, owner's email or target URL.
          </p>
        </div>
      )}
      <ErrorNotice error={error ?? unread} again={lookOn} />
      <div class="pager">
        <span role="status" class="searched" aria-busy={pending}>
          <span class="wheel" aria-hidden="true" />
          {done
            ? `Searched all ${looked}: ${found.length} found.`
            : `Searched ${looked}: ${found.length} found so far${pending ? " …" : "."}`}
        </span>
        {found.length > shownMax && (
          <ActionButton onClick={() => setShownMax(shownMax + SHOWN_AT_ONCE)}>
            Show more ({found.length - shownMax})
          </ActionButton>
        )}
        {!done && !pending && error === undefined && (
          <ActionButton onClick={lookOn}>Search more workspaces</ActionButton>
        )}
      </div>
    </>
  );
}
