import { useState } from "preact/hooks";
import type { WorkspaceWithSecret } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { ActionButton } from "../parts/action-button";
import { ModeBadge } from "../parts/badge";
import { CopyButton } from "../parts/copy-button";
import { Loading } from "../parts/loading";
import { ErrorNotice } from "../parts/notice";
import { PageHeading } from "../parts/page-heading";
import { SecretCard } from "../parts/secret-card";
import { Link } from "../router";
import { showsNextSteps } from "../words/next-steps";
import { ChangesCard } from "../workspace/changes-card";
import { DangerZone } from "../workspace/danger-zone";
import { DeliveryLog } from "../workspace/delivery-log";
import { HealthCard } from "../workspace/health-card";
import { LivenessBadge, LivenessNotice } from "../workspace/liveness";
import { NextStepsCard } from "../workspace/next-steps-card";
import { OperatorEventsCard } from "../workspace/operator-events-card";
import { ProfileCard } from "../workspace/profile-card";
import { SecretsCard } from "../workspace/secrets-card";
import { TargetUrlCard } from "../workspace/target-url-card";
import { TestEventCard } from "../workspace/test-event-card";
import { TrafficCard } from "../workspace/traffic-card";
import { useTicks } from "../workspace/use-ticks";
import { useWorkspace } from "../workspace/use-workspace";

export function WorkspacePage({ id, publicUrl }: { readonly id: string; readonly publicUrl: string }) {
  const { workspace, health, deliveries, liveness, updatedAt, error, gone, changed } = useWorkspace(id);
  const [made, setMade] = useState<WorkspaceWithSecret | undefined>(undefined);
  const used = useTicks(id);
  const now = useNow(60_000);

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
    return error === undefined ? <Loading what="Loading the workspace" /> : <ErrorNotice error={error} />;
  }

  function withSecret(answer: WorkspaceWithSecret): void {
    setMade(answer);
    changed(answer.workspace);
  }

  const isAlive = workspace.custom && workspace.connected;
  const isNew = showsNextSteps(workspace, health, used.ticks, used.begun, now);
  const hasTraffic = isAlive && (!isNew || (deliveries ?? []).length > 0);
  const hook = `${publicUrl}/hooks/${workspace.id}`;
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <Link href="/">Workspaces</Link>
      </nav>
      <PageHeading title={workspace.name}>
        <ModeBadge mode={workspace.mode} />
        <LivenessBadge liveness={liveness} />
      </PageHeading>
      <dl class="addresses">
        <div>
          <dt>Id</dt>
          <dd>
            <code>{workspace.id}</code>
            <CopyButton short text={workspace.id} what="the workspace id" />
          </dd>
        </div>
        {isAlive && (
          <div>
            <dt>Hook URL</dt>
            <dd>
              <code>{hook}</code>
              <CopyButton short text={hook} what="the hook URL" />
            </dd>
          </div>
        )}
      </dl>
      <LivenessNotice liveness={liveness} updatedAt={updatedAt} />
      <ErrorNotice error={error} />
      {made !== undefined && (
        <SecretCard made={made} publicUrl={publicUrl} comesUp>
          <ActionButton look="primary" onClick={() => setMade(undefined)}>
            I have stored it
          </ActionButton>
        </SecretCard>
      )}
      <div class={`overview${isNew && hasTraffic ? " is-full" : ""}`}>
        <HealthCard workspace={workspace} health={health} />
        {isNew && <NextStepsCard workspace={workspace} health={health} used={used} />}
        {isAlive && <TestEventCard workspace={workspace} health={health} liveness={liveness} />}
        {hasTraffic && <TrafficCard deliveries={deliveries} mode={workspace.mode} />}
      </div>
      <DeliveryLog deliveries={deliveries} workspace={workspace} />
      <h2 class="section-title">Settings</h2>
      <div class="settings">
        {workspace.custom && <TargetUrlCard workspace={workspace} health={health} onChange={changed} />}
        {isAlive && <SecretsCard workspace={workspace} onSecret={withSecret} />}
        <ProfileCard workspace={workspace} onChange={changed} />
        <OperatorEventsCard workspace={workspace} onChange={changed} />
        <ChangesCard id={id} />
        <DangerZone workspace={workspace} onChange={changed} onSecret={withSecret} />
      </div>
    </>
  );
}
