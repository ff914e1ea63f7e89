import type { WorkspaceWithSecret } from "../../proto/json/shapes";
import { PageHeading } from "../parts/page-heading";
import { SecretCard } from "../parts/secret-card";
import { Link } from "../router";
import { FirstRequestCard } from "../workspace/first-request-card";
import { NextStepsCard } from "../workspace/next-steps-card";
import { LivenessBadge, LivenessNotice } from "../workspace/liveness";
import { useTicks } from "../workspace/use-ticks";
import { useWorkspace } from "../workspace/use-workspace";

export interface ConnectedPageProps {
  readonly made: WorkspaceWithSecret;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
}

/** Shows the secret of a new workspace, and the steps until its bridge is connected. */
export function ConnectedPage({ made, publicUrl }: ConnectedPageProps) {
  const { id, name } = made.workspace;
  const { workspace = made.workspace, health, requests, liveness, updatedAt } = useWorkspace(id);
  const ticks = useTicks(id);
  return (
    <div class="narrow roomy at-start">
      <PageHeading title={`${name} is connected`}>
        <LivenessBadge liveness={liveness} />
      </PageHeading>
      <LivenessNotice liveness={liveness} updatedAt={updatedAt} />
      <SecretCard made={made} publicUrl={publicUrl} />
      <FirstRequestCard made={made} health={health} requests={requests} publicUrl={publicUrl} />
      <NextStepsCard workspace={workspace} health={health} requests={requests} used={ticks} />
      <div class="row">
        <Link class="button look-primary" href={`/workspaces/${id}`}>
          Open the workspace
        </Link>
      </div>
    </div>
  );
}
