import { useEffect, useState } from "preact/hooks";
import { ActionButton } from "../parts/action-button";
import { Icon } from "../parts/icon";
import { LimitedToken } from "../parts/limited-token";
import { Loading } from "../parts/loading";
import { ErrorNotice, Notice } from "../parts/notice";
import { PageHeading } from "../parts/page-heading";
import { Link, navigate, useHere } from "../router";
import { useSession } from "../session";
import { useDraft } from "../use-draft";
import { useSearch } from "../workspaces/use-search";
import { useWorkspacePages } from "../workspaces/use-workspace-pages";
import { WorkspaceTable } from "../workspaces/workspace-table";

/** Milliseconds after the last keystroke until the search starts. */
const TYPED_FOR_MS = 350;
/**
 * Number of found workspaces to show at a time. For each shown workspace, the edge calls core to read the workspace's
 * health.
 */
const SHOWN_AT_ONCE = 50;

export function WorkspacesPage() {
  const limitedTo = useSession()?.workspaces ?? null;
  const search = useHere().searchParams.get("search") ?? "";
  const [typed, setTyped] = useDraft("search", search);
  useEffect(() => {
    const wanted = typed.trim();
    if (wanted === search) return;
    const soon = setTimeout(() => show(wanted), TYPED_FOR_MS);
    return () => clearTimeout(soon);
  }, [typed]);
  return (
    <>
      <PageHeading title="Workspaces">
        {limitedTo === null && (
          <Link class="button look-primary" href="/connect">
            <Icon name="plus" />
            Connect a workspace
          </Link>
        )}
      </PageHeading>
      {limitedTo !== null && <LimitedToken />}
      <form
        class="search"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          show(typed.trim());
        }}
      >
        <Icon name="search" />
        <input
          type="search"
          aria-label="Search by name, id, owner's email or target URL"
          placeholder="Name, id, owner or target URL"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      </form>
      {search === "" ? <AllWorkspaces /> : <FoundWorkspaces key={search} search={search} />}
    </>
  );
}

function show(search: string): void {
  navigate(search === "" ? "/" : `/?${new URLSearchParams({ search })}`, { replace: true });
}

function AllWorkspaces() {
  const isLimited = (useSession()?.workspaces ?? null) !== null;
  const { page, number, trail, size, goNext, goBack, goFirst, setSize } = useWorkspacePages();
  if (page.data === undefined) {
    return page.error === undefined ? (
      <Loading what="Loading workspaces" />
    ) : (
      <ErrorNotice error={page.error} again={page.again} />
    );
  }
  const { workspaces, next, notice } = page.data;
  if (workspaces.length === 0 && number === 1 && !isLimited) {
    return (
      <div class="empty card">
        <Icon name="bridge" />
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
  return (
    <>
      <ErrorNotice error={page.error} again={page.again} />
      {notice !== null && <Notice tone="warn">{notice}</Notice>}
      <WorkspaceTable workspaces={workspaces} busy={page.loading} caption="Workspaces, newest first" />
      <nav class="pager" aria-label="Pages of workspaces">
        <ActionButton disabled={number === 1} onClick={goFirst}>
          Newest
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
          Older
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

function FoundWorkspaces({ search }: { readonly search: string }) {
  const { found, lookedThrough, done, pending, error, lookOn } = useSearch(search);
  const [shownMax, setShownMax] = useState(SHOWN_AT_ONCE);
  const looked = `${lookedThrough.toLocaleString()} ${lookedThrough === 1 ? "workspace" : "workspaces"}`;
  return (
    <>
      {found.length > 0 && (
        <WorkspaceTable
          workspaces={found.slice(0, shownMax)}
          busy={pending}
          caption={`Workspaces that match ${search}`}
        />
      )}
      {done && found.length === 0 && (
        <div class="empty card">
          <Icon name="search" />
          <h2>Nothing matches</h2>
          <p>No workspace has “{search}” in its name, id, owner's email or target URL.</p>
        </div>
      )}
      <ErrorNotice error={error} again={lookOn} />
      <div class="pager">
        <span role="status" class="searched" aria-busy={pending}>
          <span class="wheel" aria-hidden="true" />
          {done
            ? `Searched all ${looked}: ${found.length} found.`
            : `Searched the newest ${looked}: ${found.length} found so far${pending ? " …" : "."}`}
        </span>
        {found.length > shownMax && (
          <ActionButton onClick={() => setShownMax(shownMax + SHOWN_AT_ONCE)}>
            Show more ({found.length - shownMax})
          </ActionButton>
        )}
        {!done && !pending && error === undefined && (
          <ActionButton onClick={lookOn}>Search older workspaces</ActionButton>
        )}
      </div>
    </>
  );
}
