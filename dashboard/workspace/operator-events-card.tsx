import { useState } from "preact/hooks";
import type { OperatorTestShape, WorkspaceShape } from "../../proto/json/shapes";
import { announce } from "../announce";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { CopyButton } from "../parts/copy-button";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { ErrorNotice, Notice } from "../parts/notice";
import { useAction } from "../use-action";
import { useDraft } from "../use-draft";
import { operatorTestWords } from "../words/operator-test-words";

export interface OperatorEventsCardProps {
  readonly workspace: WorkspaceShape;
  onChange(workspace: WorkspaceShape): void;
}

/** Sets and clears the address that is notified when the workspace fails or recovers. */
export function OperatorEventsCard({ workspace, onChange }: OperatorEventsCardProps) {
  const { id, operatorEventsAddress: address, operatorEventsMissingKey: missingKey } = workspace;
  const [typed, setTyped] = useDraft("operator-events", address);
  const [secret, setSecret] = useState("");
  const wanted = typed.trim();
  const isUrl = address.startsWith("https:");

  const [results, setResults] = useState<OperatorTestShape["results"]>([]);

  async function set(to: string): Promise<void> {
    setResults([]);
    const made = await api.setOperatorEvents(id, to);
    setSecret(made.signingSecret);
    onChange(made.workspace);
    announce(
      to === ""
        ? "Operator events are no longer sent."
        : "The address is set. Send a test event to check it.",
    );
  }
  const saving = useAction(() => set(wanted));
  const rotating = useAction(() => set(address));
  const clearing = useAction(() => set(""));
  const testing = useAction(async () => {
    setResults([]);
    setResults((await api.sendTestOperatorEvent(id)).results);
  });

  return (
    <section class="card" aria-labelledby="operator-events-title">
      <h2 id="operator-events-title">Operator events</h2>
      <Form action={saving} fields={["address"]} onSubmit={saving.run}>
        <Field
          label="Failures and recoveries are reported to"
          name="address"
          value={typed}
          onText={setTyped}
          placeholder="https://ops.example/events"
          required
          hint="An https URL that receives signed requests, or an email address."
        />
        {missingKey !== "" && (
          <Notice tone="bad">
            The secret is unreadable, because the service lacks the key {missingKey}: create a new secret.
          </Notice>
        )}
        <ErrorNotice error={rotating.error ?? clearing.error ?? testing.error} />
        <div class="row">
          <ActionButton
            type="submit"
            look="primary"
            pending={saving.pending}
            disabled={wanted === address || wanted === ""}
          >
            {address === "" ? "Set address" : "Change address"}
          </ActionButton>
          {address !== "" && (
            <ActionButton pending={testing.pending} disabled={wanted !== address} onClick={testing.run}>
              Send test event
            </ActionButton>
          )}
          {isUrl && (
            <ActionButton pending={rotating.pending} onClick={rotating.run}>
              New secret
            </ActionButton>
          )}
          {address !== "" && (
            <ActionButton pending={clearing.pending} onClick={clearing.run}>
              Clear address
            </ActionButton>
          )}
        </div>
        {address !== "" && (
          <p class="hint">
            {wanted === address
              ? "A test event is sent once. You can send 5 in a minute, and 30 in an hour."
              : "Set the address before you send a test event."}
          </p>
        )}
      </Form>
      {results.map((result) => {
        const { tone, text } = operatorTestWords(result);
        return (
          <Notice key={result.receiver} tone={tone}>
            {text}
          </Notice>
        );
      })}
      {secret !== "" && (
        <>
          <Notice tone="warn">
            Give this secret to the receiver: it is not shown again. The previous secret of the same URL stays
            valid for 24 hours.
          </Notice>
          <div class="secret-line">
            <code data-secret>{secret}</code>
            <CopyButton text={secret} what="the secret for operator events" />
          </div>
        </>
      )}
    </section>
  );
}
