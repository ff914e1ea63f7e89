import { useId, useState } from "preact/hooks";
import { takeFocus } from "../focus";
import { ActionButton } from "../parts/action-button";
import { ErrorNotice, Notice } from "../parts/notice";
import { useAction } from "../use-action";
import { countOf } from "../words/delivery-list";
import { SENT_WORDS } from "../words/send-again-words";
import type { SendAgain, SentResults } from "./use-send-again";

export interface SendAgainBarProps {
  readonly sendAgain: SendAgain;
  /** Ids of the events that the user can select. */
  readonly choosable: readonly string[];
  readonly chosen: readonly string[];
  onChoose(ids: readonly string[]): void;
  onSent(): void;
}

/** Selects all failed events, and sends the selected events again. Without failed events, it shows only the last results. */
export function SendAgainBar({ sendAgain, choosable, chosen, onChoose, onSent }: SendAgainBarProps) {
  const [results, setResults] = useState<SentResults | undefined>(undefined);
  const whyId = useId();
  const sending = useAction(async () => {
    setResults(undefined);
    setResults(await sendAgain.send(chosen));
    onChoose([]);
    onSent();
  });
  const { disabled, error, failed } = sendAgain;
  const hasAll = choosable.length > 0 && choosable.every((id) => chosen.includes(id));
  return (
    <div class="send-again">
      {(choosable.length + chosen.length > 0 || (disabled !== undefined && failed.size > 0)) && (
        <div class="send-again-bar" role="group" aria-label="Send failed events again">
          {disabled === undefined ? (
            <label class="choose-all">
              <input
                type="checkbox"
                checked={hasAll}
                indeterminate={chosen.length > 0 && !hasAll}
                onChange={() => onChoose(hasAll ? [] : [...new Set([...chosen, ...choosable])])}
              />
              {chosen.length === 0 ? (
                <span>Select all failed events ({choosable.length})</span>
              ) : (
                <strong>{chosen.length} selected</strong>
              )}
            </label>
          ) : (
            <span class="choose-all">{countOf(failed.size, "failed event")}</span>
          )}
          {(chosen.length > 0 || disabled !== undefined) && (
            <ActionButton
              look={disabled === undefined ? "primary" : "plain"}
              pending={sending.pending}
              disabled={disabled !== undefined}
              onClick={() => sending.run()}
              aria-describedby={whyId}
            >
              Send again
            </ActionButton>
          )}
          <p class="hint" id={whyId}>
            {disabled}
          </p>
        </div>
      )}
      <ErrorNotice error={sending.error ?? error} />
      <div role="status">
        {results !== undefined && <Results results={results} onClose={() => setResults(undefined)} />}
      </div>
    </div>
  );
}

function Results({ results, onClose }: { readonly results: SentResults; onClose(): void }) {
  const queued = results.filter(({ result }) => result === "queued").length;
  return (
    <div class="sent-results" tabIndex={-1} ref={takeFocus}>
      <Notice tone={queued === results.length ? "good" : "warn"}>
        {countOf(queued, "event")} of {results.length} queued. New attempts appear in the log.
      </Notice>
      {/* The list can scroll, so the keyboard must reach the list. */}
      <ul tabIndex={0} aria-label="Result for each event">
        {results.map(({ eventId, result }) => (
          <li key={eventId}>
            <code>{eventId}</code> {SENT_WORDS[result]}
          </li>
        ))}
      </ul>
      <ActionButton onClick={onClose}>Close</ActionButton>
    </div>
  );
}
