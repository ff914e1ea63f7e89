import { useState } from "preact/hooks";
import { ID_MAX_CHARACTERS } from "../../contract/numbers";
import type { WorkspaceWithSecret } from "../../edge/dashboard/shapes";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { Field, FormFault } from "../parts/field";
import { PageHeading } from "../parts/page-heading";
import { SecretCard } from "../parts/secret-card";
import { Link } from "../router";
import { useAction } from "../use-action";

const FIELDS = ["name", "ownerEmail", "targetUrl"];

export function ConnectPage({ publicUrl }: { readonly publicUrl: string }) {
  const [name, setName] = useState("");
  const [ownerEmail, setOwnerEmail] = useState("");
  const [pushes, setPushes] = useState(false);
  const [targetUrl, setTargetUrl] = useState("");
  const [made, setMade] = useState<WorkspaceWithSecret | undefined>(undefined);
  const connecting = useAction(async () => {
    setMade(
      await api.create({
        name: name.trim(),
        ownerEmail: ownerEmail.trim(),
        targetUrl: pushes ? targetUrl.trim() : "",
      }),
    );
  });
  if (made !== undefined) {
    return (
      <div class="narrow">
        <PageHeading key="made" title={`${made.workspace.name} is connected`} />
        <SecretCard made={made} publicUrl={publicUrl}>
          <Link class="button look-primary" href={`/workspaces/${made.workspace.id}`}>
            I have stored it: open the workspace
          </Link>
        </SecretCard>
      </div>
    );
  }
  const { error } = connecting;
  return (
    <div class="narrow">
      <PageHeading title="Connect a workspace" />
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          connecting.run();
        }}
      >
        <Field
          label="Name"
          name="name"
          value={name}
          onText={setName}
          error={error}
          required
          maxLength={ID_MAX_CHARACTERS}
          hint="A display name, such as the name of the workspace in the chat tool."
        />
        <Field
          label="Owner's email"
          name="ownerEmail"
          type="email"
          value={ownerEmail}
          onText={setOwnerEmail}
          error={error}
          hint="Optional. The owner is notified when the bridge stops polling while events wait."
        />
        <fieldset>
          <legend>How does the bridge get its events?</legend>
          <label class="choice">
            <input type="radio" name="mode" checked={!pushes} onChange={() => setPushes(false)} />
            <span>
              <strong>It polls</strong>
              <span class="hint">
                The bridge needs no public address. Events are held for 24 hours for the bridge to poll.
              </span>
            </span>
          </label>
          <label class="choice">
            <input type="radio" name="mode" checked={pushes} onChange={() => setPushes(true)} />
            <span>
              <strong>It receives pushes</strong>
              <span class="hint">
                The bridge needs a public HTTPS address. Events arrive immediately, and are lost while the
                bridge is down.
              </span>
            </span>
          </label>
        </fieldset>
        {pushes && (
          <Field
            label="Target URL"
            name="targetUrl"
            type="url"
            value={targetUrl}
            onText={setTargetUrl}
            error={error}
            required
            placeholder="https://bridge.example/events"
            hint="The https URL that receives the events. Its host must have a public address."
          />
        )}
        <FormFault error={error} fields={pushes ? FIELDS : FIELDS.slice(0, 2)} />
        <ActionButton type="submit" look="primary" pending={connecting.pending}>
          Connect
        </ActionButton>
      </form>
    </div>
  );
}
