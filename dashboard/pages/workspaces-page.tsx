import { useEffect } from "preact/hooks";
import { WORKSPACE_STATES } from "../../contract/workspace-states";
import { Icon } from "../parts/icon";
import { LimitedToken } from "../parts/limited-token";
import { PageHeading } from "../parts/page-heading";
import { Link, navigate, useHere } from "../router";
import { useSession } from "../session";
import { useDraft } from "../use-draft";
import { AllWorkspaces } from "../workspaces/all-workspaces";
import { FoundWorkspaces } from "../workspaces/found-workspaces";
import { listPath } from "../workspaces/state-chips";

/** Milliseconds after the last keystroke until the search starts. */
const TYPED_FOR_MS = 350;
export function WorkspacesPage() {
  const limitedTo = useSession()?.workspaces ?? null;
  const { searchParams } = useHere();
  const search = searchParams.get("search") ?? "";
  const state = WORKSPACE_STATES.find((each) => each === searchParams.get("state"));
  const [typed, setTyped] = useDraft("search", search);
  useEffect(() => {
    const wanted = typed.trim();
    if (wanted === search) return;
    const soon = setTimeout(() => show(wanted), TYPED_FOR_MS);
    return () => clearTimeout(soon);
  }, [typed]);
  function show(wanted: string): void {
    navigate(listPath(state, wanted), { replace: true });
  }
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
      {search === "" ? (
        <AllWorkspaces state={state} />
      ) : (
        <FoundWorkspaces key={`${state} ${search}`} search={search} state={state} />
      )}
    </>
  );
}
