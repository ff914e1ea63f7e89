import { useState } from "preact/hooks";
import type { WorkspaceShape, WorkspaceWithSecret } from "../../proto/json/shapes";
import { announce } from "../announce";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { ConfirmDialog } from "../parts/confirm-dialog";
import { Field } from "../parts/field";
import { ErrorNotice } from "../parts/notice";
import { navigate } from "../router";
import { useAction } from "../use-action";

export interface DangerZoneProps {
  readonly workspace: WorkspaceShape;
  onChange(workspace: WorkspaceShape): void;
  onSecret(answer: WorkspaceWithSecret): void;
}

export function DangerZone({ workspace, onChange, onSecret }: DangerZoneProps) {
  const { id, name, custom, connected } = workspace;
  const [asking, setAsking] = useState<"disconnect" | "delete" | undefined>(undefined);
  const [typed, setTyped] = useState("");
  const connecting = useAction(async () => {
    onSecret(await api.connect(id));
    announce("Connected, with a new signing secret. Store it now.");
  });
  const disconnecting = useAction(async () => {
    onChange(await api.disconnect(id));
    setAsking(undefined);
    announce("Disconnected.");
  });
  const deleting = useAction(async () => {
    await api.delete(id, typed);
    navigate("/");
    announce(`Deleted ${name}.`);
  });
  function close(): void {
    setAsking(undefined);
    setTyped("");
    disconnecting.clear();
    deleting.clear();
  }
  return (
    <section class="card danger-zone" aria-labelledby="danger-title">
      <h2 id="danger-title">{connected ? "Disconnect or delete" : "Connect or delete"}</h2>
      <ErrorNotice error={connecting.error} />
      <div class="row">
        {custom && connected && (
          <ActionButton onClick={() => setAsking("disconnect")}>Disconnect</ActionButton>
        )}
        {custom && !connected && (
          <ActionButton look="primary" pending={connecting.pending} onClick={() => connecting.run()}>
            Connect again
          </ActionButton>
        )}
        <ActionButton look="danger" onClick={() => setAsking("delete")}>
          Delete
        </ActionButton>
      </div>
      {asking === "disconnect" && (
        <ConfirmDialog
          title={`Disconnect ${name}?`}
          confirm="Disconnect"
          action={disconnecting}
          danger
          onClose={close}
        >
          <p>
            The workspace's URLs under /hooks will answer with 404, and its signing secrets will be deleted
            immediately. Connecting the workspace again creates a new secret, which the bridge then needs.
          </p>
        </ConfirmDialog>
      )}
      {asking === "delete" && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          confirm="Delete for good"
          action={deleting}
          fields={["name"]}
          danger
          ready={typed === name}
          onClose={close}
        >
          <p>
            The workspace, its secrets, its held and failed events, and its logs of deliveries and changes are
            removed for good.
          </p>
          <Field label={`Type the name, ${name}, to confirm`} name="name" value={typed} onText={setTyped} />
        </ConfirmDialog>
      )}
    </section>
  );
}
