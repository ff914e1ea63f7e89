import { useState } from "preact/hooks";
import type { WorkspaceShape, WorkspaceWithSecret } from "../../edge/dashboard/shapes";
import { announce } from "../announce";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { ConfirmDialog } from "../parts/confirm-dialog";
import { Instant } from "../parts/instant";
import { useAction } from "../use-action";

export interface SecretsCardProps {
  readonly workspace: WorkspaceShape;
  onSecret(answer: WorkspaceWithSecret): void;
}

/** Lists the valid signing secrets with their expiry, and lets the user create a new secret. */
export function SecretsCard({ workspace: { id, secrets }, onSecret }: SecretsCardProps) {
  const [asking, setAsking] = useState(false);
  const rotating = useAction(async () => {
    onSecret(await api.rotateSecret(id));
    setAsking(false);
    announce("Created a new signing secret. Store it now.");
  });
  return (
    <section class="card" aria-labelledby="secrets-title">
      <h2 id="secrets-title">Signing secrets</h2>
      <ul class="secrets">
        {secrets.map(({ createdAt, expiresAt }) => (
          <li key={createdAt}>
            <strong>{expiresAt === null ? "Current" : "Retired"}</strong>
            <span>
              created <Instant at={createdAt} />
            </span>
            {expiresAt !== null && (
              <span class="overlap">
                accepted until <Instant at={expiresAt} /> (<Instant at={expiresAt} as="ago" />)
              </span>
            )}
          </li>
        ))}
      </ul>
      <p class="hint">Events are signed with every secret in this list, newest first.</p>
      <ActionButton onClick={() => setAsking(true)}>Rotate</ActionButton>
      {asking && (
        <ConfirmDialog
          title="Create a new signing secret?"
          confirm="Rotate"
          action={rotating}
          onClose={() => {
            setAsking(false);
            rotating.clear();
          }}
        >
          <p>
            The new secret is shown once. The previous secret stays valid for 24 hours: give the bridge the
            new secret within that time.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
