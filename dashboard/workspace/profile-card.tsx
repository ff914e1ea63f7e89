import { ID_MAX_CHARACTERS } from "../../contract/numbers";
import type { WorkspaceShape } from "../../proto/json/shapes";
import { announce } from "../announce";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Instant } from "../parts/instant";
import { useAction } from "../use-action";
import { useDraft } from "../use-draft";

export interface ProfileCardProps {
  readonly workspace: WorkspaceShape;
  onChange(workspace: WorkspaceShape): void;
}

/** Shows and changes the workspace's name, and the email address to notify if the bridge stops polling. */
export function ProfileCard({ workspace, onChange }: ProfileCardProps) {
  const [name, setName] = useDraft("name", workspace.name);
  const [ownerEmail, setOwnerEmail] = useDraft("owner", workspace.ownerEmail);
  const saving = useAction(async () => {
    onChange(await api.update(workspace.id, { name: name.trim(), ownerEmail: ownerEmail.trim() }));
    announce("Saved.");
  });
  const isChanged = name.trim() !== workspace.name || ownerEmail.trim() !== workspace.ownerEmail;
  return (
    <section class="card" aria-labelledby="profile-title">
      <h2 id="profile-title">About</h2>
      <Form action={saving} fields={["name", "ownerEmail"]}>
        <Field
          label="Name"
          name="name"
          value={name}
          onText={setName}
          required
          maxLength={ID_MAX_CHARACTERS}
        />
        <Field
          label="Owner's email"
          name="ownerEmail"
          type="email"
          value={ownerEmail}
          onText={setOwnerEmail}
          hint="The owner is notified once per outage of a polling bridge."
        />
        <ActionButton type="submit" pending={saving.pending} disabled={!isChanged}>
          Save
        </ActionButton>
      </Form>
      <p class="hint">
        Created <Instant at={workspace.createdAt} />
      </p>
    </section>
  );
}
