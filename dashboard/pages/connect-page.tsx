import { useState } from "preact/hooks";
import { ID_MAX_CHARACTERS } from "../../contract/numbers";
import type { WorkspaceWithSecret } from "../../proto/json/shapes";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { PageHeading } from "../parts/page-heading";
import { useAction } from "../use-action";
import { useKept } from "../use-draft";
import { beginTicks } from "../workspace/use-ticks";
import { ConnectedPage } from "./connected-page";

const FIELDS = ["name", "ownerEmail", "targetUrl"];

export function ConnectPage({ publicUrl }: { readonly publicUrl: string }) {
  const [name, setName] = useKept("name", "");
  const [ownerEmail, setOwnerEmail] = useKept("owner", "");
  const [mode, setMode] = useKept("mode", "poll");
  const pushes = mode === "push";
  const setPushes = (chosen: boolean) => setMode(chosen ? "push" : "poll");
  const [targetUrl, setTargetUrl] = useKept("target-url", "");
  const [made, setMade] = useState<WorkspaceWithSecret | undefined>(undefined);
  const connecting = useAction(async () => {
    const answer = await api.create({
      name: name.trim(),
      ownerEmail: ownerEmail.trim(),
      targetUrl: pushes ? targetUrl.trim() : "",
    });
    beginTicks(answer.workspace.id);
    setMade(answer);
  });
  if (made !== undefined) return <ConnectedPage made={made} publicUrl={publicUrl} />;
  const missing = {
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(pushes && targetUrl.trim() === "" ? { targetUrl: "Enter the target URL." } : {}),
  };
  return (
    <div class="narrow at-start">
      <PageHeading title="Connect a workspace" />
      <Form class="card" action={connecting} fields={pushes ? FIELDS : FIELDS.slice(0, 2)} missing={missing}>
        <Field
          label="Name"
          name="name"
          value={name}
          onText={setName}
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
          hint="Optional. The owner is notified when the bridge stops polling while events wait."
        />
        <fieldset>
          <legend>How does the bridge get its events?</legend>
          <label class="choice">
            <input type="radio" name="mode" checked={!pushes} onChange={() => setPushes(false)} />
            <span>
              <strong>Poll</strong>
              <span class="hint">
                The bridge asks for events, and needs no public address. Events are held for 24 hours.
              </span>
            </span>
          </label>
          <label class="choice">
            <input type="radio" name="mode" checked={pushes} onChange={() => setPushes(true)} />
            <span>
              <strong>Push (webhook)</strong>
              <span class="hint">
                The service sends events to the bridge, which needs a public HTTPS address. Events arrive
                immediately, and are lost while the bridge is down.
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
            required
            placeholder="https://bridge.example/events"
            hint="The https URL that receives the events. Its host must have a public address."
          />
        )}
        <ActionButton type="submit" look="primary" pending={connecting.pending}>
          Connect
        </ActionButton>
      </Form>
    </div>
  );
}
