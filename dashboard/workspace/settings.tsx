import type { HealthShape, WorkspaceShape, WorkspaceWithSecret } from "../../proto/json/shapes";
import { ChangesCard } from "./changes-card";
import { DangerZone } from "./danger-zone";
import { OperatorEventsCard } from "./operator-events-card";
import { ProfileCard } from "./profile-card";
import { SecretsCard } from "./secrets-card";
import { TargetUrlCard } from "./target-url-card";

export interface SettingsProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  onChange(workspace: WorkspaceShape): void;
  onSecret(answer: WorkspaceWithSecret): void;
}

/**
 * The second tab of a workspace's page. Each card stays in its column, so a growing card moves only the cards below it.
 */
export function Settings({ workspace, health, onChange, onSecret }: SettingsProps) {
  const isAlive = workspace.custom && workspace.connected;
  return (
    <>
      <div class="settings">
        <div class="settings-column">
          {workspace.custom && <TargetUrlCard workspace={workspace} health={health} onChange={onChange} />}
          {isAlive && <SecretsCard workspace={workspace} onSecret={onSecret} />}
        </div>
        <div class="settings-column">
          <ProfileCard workspace={workspace} onChange={onChange} />
          <OperatorEventsCard workspace={workspace} onChange={onChange} />
        </div>
        <div class="settings-column">
          <ChangesCard id={workspace.id} />
        </div>
      </div>
      <DangerZone workspace={workspace} onChange={onChange} onSecret={onSecret} />
    </>
  );
}
