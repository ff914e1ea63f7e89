import { useState } from "preact/hooks";
import type { WorkspaceShape, WorkspaceWithSecret } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { ActionButton } from "../parts/action-button";
import { ModeBadge } from "../parts/badge";
import { CopyButton } from "../parts/copy-button";
import { Loading } from "../parts/loading";
import { ErrorNotice } from "../parts/notice";
import { PageHeading } from "../parts/page-heading";
import { SecretCard } from "../parts/secret-card";
import { Link } from "../router";
import { healthWords } from "../words/health-words";
import { LivenessBadge, LivenessNotice } from "../workspace/liveness";
import { NoWorkspace } from "../workspace/no-workspace";
import { Overview } from "../workspace/overview";
import { Settings } from "../workspace/settings";
import { useWorkspace } from "../workspace/use-workspace";
import { WorkspaceTabs, type WorkspaceTab } from "../workspace/workspace-tabs";

export interface WorkspacePageProps {
  readonly id: string;
  readonly tab: WorkspaceTab;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
}

export function WorkspacePage({ id, tab, publicUrl }: WorkspacePageProps) {
  const { workspace, health, deliveries, requests, liveness, updatedAt, error, gone, changed } =
    useWorkspace(id);
  const [made, setMade] = useState<WorkspaceWithSecret | undefined>(undefined);
  const now = useNow(60_000);

  if (gone) return <NoWorkspace />;
  if (workspace === undefined) {
    // During an outage, the stream reports the outage several seconds before the read fails, so the notice is shown
    // here too.
    return (
      <>
        <LivenessNotice liveness={liveness} updatedAt={updatedAt} />
        {error === undefined ? <Loading what="Loading the workspace" /> : <ErrorNotice error={error} />}
      </>
    );
  }

  function withSecret(answer: WorkspaceWithSecret): void {
    setMade(answer);
    changed(answer.workspace);
  }

  const isStale = liveness !== "live" && updatedAt !== undefined;
  const isBad = healthWords(workspace, health, now).tone === "bad";
  const windowTitle = `${isBad ? "(!) " : ""}${tab === "settings" ? "Settings · " : ""}${workspace.name}`;
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <Link href="/">Workspaces</Link>
      </nav>
      <PageHeading title={workspace.name} windowTitle={windowTitle}>
        <ModeBadge mode={workspace.mode} />
        <LivenessBadge liveness={liveness} />
      </PageHeading>
      <Addresses workspace={workspace} publicUrl={publicUrl} />
      <WorkspaceTabs id={workspace.id} shown={tab} />
      <LivenessNotice liveness={liveness} updatedAt={updatedAt} />
      <ErrorNotice error={error} />
      {made !== undefined && (
        <SecretCard made={made} publicUrl={publicUrl} comesUp>
          <ActionButton look="primary" onClick={() => setMade(undefined)}>
            Hide the secret
          </ActionButton>
        </SecretCard>
      )}
      {tab === "overview" ? (
        <Overview
          workspace={workspace}
          health={health}
          deliveries={deliveries}
          requests={requests}
          liveness={liveness}
          isStale={isStale}
        />
      ) : (
        <Settings workspace={workspace} health={health} onChange={changed} onSecret={withSecret} />
      )}
    </>
  );
}

function Addresses({
  workspace,
  publicUrl,
}: {
  readonly workspace: WorkspaceShape;
  readonly publicUrl: string;
}) {
  const hook = `${publicUrl}/hooks/${workspace.id}`;
  return (
    <dl class="addresses">
      <div>
        <dt>Id</dt>
        <dd>
          <code>{workspace.id}</code>
          <CopyButton short text={workspace.id} what="the workspace id" />
        </dd>
      </div>
      {workspace.custom && workspace.connected && (
        <div>
          <dt>Hook URL</dt>
          <dd>
            <code>{hook}</code>
            <CopyButton short text={hook} what="the hook URL" />
          </dd>
        </div>
      )}
    </dl>
  );
}
