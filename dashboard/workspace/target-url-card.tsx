import { useState } from "preact/hooks";
import type { HealthShape, WorkspaceShape } from "../../proto/json/shapes";
import { announce } from "../announce";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { ConfirmDialog } from "../parts/confirm-dialog";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { ErrorNotice } from "../parts/notice";
import { useAction } from "../use-action";
import { useDraft } from "../use-draft";
import { waitingWords } from "../words/health-words";

export interface TargetUrlCardProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  onChange(workspace: WorkspaceShape): void;
}

/** Sets and clears the URL that events are pushed to. */
export function TargetUrlCard({ workspace, health, onChange }: TargetUrlCardProps) {
  const { id, targetUrl } = workspace;
  const [typed, setTyped] = useDraft("target-url", targetUrl);
  const [asking, setAsking] = useState<"push" | "poll" | undefined>(undefined);
  const wanted = typed.trim();

  async function set(url: string): Promise<void> {
    onChange(await api.setTargetUrl(id, url));
    announce(
      url === "" ? "Target URL cleared: events are held for polling." : "Target URL set: events are pushed.",
    );
  }
  const saving = useAction(() => set(wanted));
  const switching = useAction(async () => {
    // An error about the URL is shown below the URL field, so the dialog closes first.
    setAsking(undefined);
    if (asking === "poll") await set("");
    else saving.run();
  });
  const waiting = health?.mode === "poll" ? health.waiting : 0;

  function submit(): void {
    if (targetUrl === "" && workspace.connected) setAsking("push");
    else saving.run();
  }

  return (
    <section class="card" aria-labelledby="target-title">
      <h2 id="target-title">Target URL</h2>
      <Form action={saving} fields={["targetUrl"]} onSubmit={submit}>
        <Field
          label="Events are pushed to"
          name="targetUrl"
          type="url"
          value={typed}
          onText={setTyped}
          placeholder="https://bridge.example/events"
          required
          hint={
            targetUrl === ""
              ? "No URL is set: events are held for 24 hours for the bridge to poll."
              : "Polls are answered with 403."
          }
        />
        <ErrorNotice error={switching.error} />
        <div class="row">
          <ActionButton
            type="submit"
            look="primary"
            pending={saving.pending}
            disabled={wanted === targetUrl || wanted === ""}
          >
            {targetUrl === "" ? "Set" : "Change"}
          </ActionButton>
          {targetUrl !== "" && (
            <ActionButton pending={switching.pending} onClick={() => setAsking("poll")}>
              Clear
            </ActionButton>
          )}
        </div>
      </Form>
      {asking === "push" && (
        <ConfirmDialog
          title="Push events from now on?"
          confirm="Set the target URL"
          action={switching}
          onClose={() => setAsking(undefined)}
        >
          <p>
            <strong>{waiting === 0 ? "No events are waiting." : `${waitingWords(waiting)}.`}</strong> Held
            events are never pushed, and polls are answered with 403 from now on. Let the bridge make one last
            poll first.
          </p>
          <p class="hint">
            Held events can be polled again if you clear the target URL before their 24 hours are over.
          </p>
        </ConfirmDialog>
      )}
      {asking === "poll" && (
        <ConfirmDialog
          title="Hold events for polling?"
          confirm="Clear the target URL"
          action={switching}
          onClose={() => setAsking(undefined)}
        >
          <p>
            From now on, events are held for 24 hours, and the bridge must poll for them every few seconds.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
