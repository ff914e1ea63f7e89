import { useEffect } from "preact/hooks";
import { stateLabel, type WorkspaceState } from "../../contract/workspace-states";
import type { WorkspacePage } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { ErrorNotice, Notice } from "../parts/notice";
import { Link } from "../router";
import { useSession } from "../session";
import { changesOf, totalOf } from "../words/list-words";
import { StateChips } from "./state-chips";
import { useSummaries } from "./use-summaries";
import { useWorkspacePages } from "./use-workspace-pages";
import { LoadingTable, WorkspaceTable } from "./workspace-table";

/** The list of all workspaces, or of all workspaces with one state. */
export function AllWorkspaces({ state }: { readonly state: WorkspaceState | undefined }) {
  const isLimited = (useSession()?.workspaces ?? null) !== null;
  const pages = useWorkspacePages(state);
  const { page, number } = pages;
  const { data } = page;
  if (data === undefined) {
    return (
      <>
        <StateChips counts={null} state={state} search="" />
        {page.error === undefined ? <ListBar /> : <ErrorNotice error={page.error} again={page.again} />}
        {page.error === undefined && <LoadingTable />}
      </>
    );
  }
  const isEmpty = data.workspaces.length === 0 && number === 1 && state === undefined;
  if (isEmpty && !isLimited) return <NoWorkspaces />;
  return <LoadedList state={state} pages={pages} data={data} />;
}

function NoWorkspaces() {
  return (
    <div class="empty card">
      <h2>No workspaces yet</h2>
      <p>
        A workspace is a chat that a bridge connects to this service. Connect the first workspace to get its
        signing secret.
      </p>
      <Link class="button look-primary" href="/connect">
        Connect a workspace
      </Link>
    </div>
  );
}

interface LoadedListProps {
  readonly state: WorkspaceState | undefined;
  readonly pages: ReturnType<typeof useWorkspacePages>;
  readonly data: WorkspacePage;
}

function LoadedList({ state, pages, data }: LoadedListProps) {
  const { page, number, trail, size, goNext, goBack, goFirst, setSize } = pages;
  const { workspaces, next, notice, summaries } = data;
  const fresh = useSummaries(workspaces, summaries);
  const { views } = fresh;
  const counts = fresh.counts ?? data.counts;
  const states = Object.fromEntries(
    workspaces.map(({ id }) => {
      const summary = views === undefined ? summaries[id] : views[id]?.summary;
      return [id, summary?.state ?? null];
    }),
  );
  const changes = changesOf(data, { states, counts });
  useEffect(() => {
    // Nobody reads a hidden page, so its rows may move.
    const look = (): void => {
      if (!document.hidden && changes > 0) page.again();
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [changes, page]);
  const isKnown = data.counts !== null;
  const rows = workspaces.map((workspace) => {
    const view = views?.[workspace.id];
    return {
      workspace: view?.workspace ?? workspace,
      summary: view === undefined ? (summaries[workspace.id] ?? null) : view.summary,
      isDeleted: isKnown && views !== undefined && view === undefined,
    };
  });
  return (
    <>
      <StateChips counts={counts} state={state} search="" />
      <ErrorNotice error={page.error ?? fresh.error} again={page.again} />
      {notice !== null && <Notice tone="warn">{notice}</Notice>}
      <ListBar
        total={counts === null ? undefined : state === undefined ? totalOf(counts) : counts[state]}
        state={state}
        changes={changes}
        update={page.again}
      />
      {workspaces.length === 0 ? (
        <NothingHere state={state} />
      ) : (
        <WorkspaceTable rows={rows} busy={page.loading} caption={captionOf(state)} />
      )}
      <nav class="pager" aria-label="Pages of workspaces">
        <ActionButton disabled={number === 1} onClick={goFirst}>
          First
        </ActionButton>
        <ActionButton disabled={trail.length === 0} onClick={goBack}>
          Back
        </ActionButton>
        <span class="pager-where" role="status">
          Page {number}
        </span>
        <ActionButton
          disabled={next === null}
          pending={page.loading}
          onClick={() => next !== null && goNext(next)}
        >
          Next
        </ActionButton>
        <label class="pager-size">
          Show{" "}
          <select value={size} onChange={({ currentTarget }) => setSize(Number(currentTarget.value))}>
            {[25, 50, 100].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </nav>
    </>
  );
}

function captionOf(state: WorkspaceState | undefined): string {
  return state === undefined
    ? "Workspaces, the most urgent states first"
    : `Workspaces with the state ${stateLabel(state)}`;
}

interface ListBarProps {
  readonly total?: number | undefined;
  readonly state?: WorkspaceState | undefined;
  readonly changes?: number;
  update?(): void;
}

/**
 * The line above the table. The rows keep their places while a user reads them, so this line offers to update the list
 * after a change. The line always has the same height, so that the rows do not move when the button appears.
 */
function ListBar({ total, state, changes = 0, update }: ListBarProps) {
  const words = total === 1 ? "workspace" : "workspaces";
  const which = state === undefined ? "" : ` with the state ${stateLabel(state)}`;
  return (
    <div class="list-bar">
      <span class="list-total">
        {total === undefined ? "" : `${total.toLocaleString("en")} ${words}${which}`}
      </span>
      <span role="status" class="list-changes">
        {changes > 0 && (
          <ActionButton look="quiet" onClick={() => update?.()}>
            {changes === 1 ? "1 change: update the list" : `${changes} changes: update the list`}
          </ActionButton>
        )}
      </span>
    </div>
  );
}

function NothingHere({ state }: { readonly state: WorkspaceState | undefined }) {
  return (
    <div class="empty card">
      <h2>{state === undefined ? "No more workspaces" : "None"}</h2>
      <p>
        {state === undefined
          ? "This page of the list is empty."
          : `No workspace has the state ${stateLabel(state)}.`}
      </p>
    </div>
  );
}
