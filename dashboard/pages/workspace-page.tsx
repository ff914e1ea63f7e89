import { useState } from "preact/hooks";
import type { WorkspaceWithSecret } from "../../edge/dashboard/shapes";
import { CopyButton } from "../parts/copy-button";
import { ModeBadge } from "../parts/badge";
import { Icon } from "../parts/icon";
import { Loading } from "../parts/loading";
import { PageHeading } from "../parts/page-heading";
import { SecretCard } from "../parts/secret-card";
import { Link } from "../router";
import { ChangesCard } from "../workspace/changes-card";
import { DangerZone } from "../workspace/danger-zone";
import { DeliveryLog } from "../workspace/delivery-log";
import { HealthCard } from "../workspace/health-card";
import { ProfileCard } from "../workspace/profile-card";
import { SecretsCard } from "../workspace/secrets-card";
import { TargetUrlCard } from "../workspace/target-url-card";
import { TestEventCard } from "../workspace/test-event-card";
import { TrafficCard } from "../workspace/traffic-card";
import { useWorkspace } from "../workspace/use-workspace";
import { ActionButton } from "../parts/action-button";

export function WorkspacePage({ id, publicUrl }: { readonly id: string; readonly publicUrl: string }) {
  const watched = useWorkspace(id);
  const [made, setMade] = useState<WorkspaceWithSecret | undefined>(undefined);
  const { workspace, health, deliveries, liveness, error, gone, changed } = watched;

  if (gone) {
    return (
      <div class="narrow">
        <PageHeading title="There is no such workspace" />
        <p>It was deleted, or the address is incorrect.</p>
        <Link href="/">All workspaces</Link>
      </div>
    );
  }
  if (workspace === undefined) {
    return error === undefined ? (
      <Loading what="Loading the workspace" />
    ) : (
      <p class="notice tone-bad" role="alert">
        {error.message}
      </p>
    );
  }

  function withSecret(answer: WorkspaceWithSecret): void {
    setMade(answer);
    changed(answer.workspace);
  }

  const isAlive = workspace.custom && workspace.connected;
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <Link href="/">Workspaces</Link>
      </nav>
      <PageHeading title={workspace.name}>
        <ModeBadge mode={workspace.mode} />
        <span class={`liveness ${liveness}`}>
          <span class="dot" aria-hidden="true" />
          {{ live: "Live", connecting: "Connecting", unavailable: "Not live: reconnecting" }[liveness]}
        </span>
      </PageHeading>
      <p class="workspace-id">
        <code>{workspace.id}</code>
        <CopyButton short text={workspace.id} what="the workspace id" />
      </p>
      {error !== undefined && (
        <p class="notice tone-bad" role="alert">
          {error.message}
        </p>
      )}
      {made !== undefined && (
        <SecretCard made={made} publicUrl={publicUrl} comesUp>
          <ActionButton look="primary" onClick={() => setMade(undefined)}>
            I have stored it
          </ActionButton>
        </SecretCard>
      )}
      <HealthCard workspace={workspace} health={health} deliveries={deliveries} />
      <div class="columns">
        <div class="column">
          {isAlive && <TrafficCard deliveries={deliveries} mode={workspace.mode} />}
          <DeliveryLog deliveries={deliveries} mode={workspace.mode} />
        </div>
        <div class="column side">
          {isAlive && <TestEventCard workspace={workspace} />}
          {workspace.custom && <TargetUrlCard workspace={workspace} health={health} onChange={changed} />}
          {isAlive && <SecretsCard workspace={workspace} onSecret={withSecret} />}
          <ProfileCard workspace={workspace} onChange={changed} />
          <ChangesCard id={id} />
          <DangerZone workspace={workspace} onChange={changed} onSecret={withSecret} />
        </div>
      </div>
      {isAlive && (
        <p class="quiet hint">
          <Icon name="bridge" /> Bridges reach this workspace at{" "}
          <code>
            {publicUrl}/hooks/{workspace.id}
          </code>
        </p>
      )}
    </>
  );
}
