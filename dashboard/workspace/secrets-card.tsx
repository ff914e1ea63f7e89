import { useState } from "preact/hooks";
import type { WorkspaceShape, WorkspaceWithSecret } from "../../proto/json/shapes";
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

/**
 * Lists the valid signing secrets with their expiry, and lets the user create a new secret. The new secret replaces an
 * unreadable secret immediately, because nothing can be signed with an unreadable secret.
 */
export function SecretsCard({ workspace: { id, secrets, missingKey }, onSecret }: SecretsCardProps) {
  const [asking, setAsking] = useState(false);
  const isReadable = missingKey === "";
  const rotating = useAction(async () => {
    onSecret(await (isReadable ? api.rotateSecret(id) : api.connect(id)));
    setAsking(false);
    announce("Created a new signing secret. Store it now.");
  });
  return (
    <section class="card" aria-labelledby="secrets-title">
      <h2 id="secrets-title">Signing secrets</h2>
      <ul class="secrets">
        {secrets.map(({ createdAt, expiresAt }) => (
          <li key={createdAt}>
            <strong>{isReadable ? (expiresAt === null ? "Current" : "Retired") : "Unreadable"}</strong>
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
      <p class="hint">
        {isReadable
          ? "Events are signed with every secret in this list, newest first."
          : `The service lacks the key ${missingKey}, which encrypted the secret.`}
      </p>
      <ActionButton onClick={() => setAsking(true)}>{isReadable ? "Rotate" : "Replace"}</ActionButton>
      {asking && (
        <ConfirmDialog
          title="Create a new signing secret?"
          confirm={isReadable ? "Rotate" : "Replace"}
          action={rotating}
          onClose={() => {
            setAsking(false);
            rotating.clear();
          }}
        >
          <p>
            {isReadable
              ? "The new secret is shown once. The previous secret stays valid for 24 hours: give the bridge the new secret within that time."
              : "The new secret is shown once, and the bridge needs it immediately. The unreadable secret is lost, even if its key is added later."}
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
