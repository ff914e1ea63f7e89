import { useId, useState } from "preact/hooks";
import { takeFocus } from "../focus";
import { ActionButton } from "../parts/action-button";
import { ConfirmDialog } from "../parts/confirm-dialog";
import { ErrorNotice, Notice } from "../parts/notice";
import { useAction } from "../use-action";
import { countOf } from "../words/delivery-list";
import { SENT_WORDS } from "../words/send-again-words";
import type { SendAgain, SentResults } from "./use-send-again";

export interface SendAgainBarProps {
  readonly sendAgain: SendAgain;
  /** Ids of the events that "Select all" selects. */
  readonly choosable: readonly string[];
  /** Says which failed events "Select all" leaves out; undefined if there are none. */
  readonly leftOut: string | undefined;
  readonly chosen: readonly string[];
  onChoose(ids: readonly string[]): void;
  onSent(): void;
}

/**
 * Lets the user select all failed events, and send the selected events again. Asks for confirmation before it sends
 * several events. If there are no failed events, shows only the last results.
 */
export function SendAgainBar(props: SendAgainBarProps) {
  const { sendAgain, choosable, leftOut, chosen, onChoose, onSent } = props;
  const [results, setResults] = useState<SentResults | undefined>(undefined);
  const [asking, setAsking] = useState(false);
  const whyId = useId();
  const sending = useAction(async () => {
    setResults(undefined);
    setResults(await sendAgain.send(chosen));
    setAsking(false);
    onChoose([]);
    onSent();
  });
  const { disabled, error, failed } = sendAgain;
  const isShown = choosable.length + chosen.length > 0 || leftOut !== undefined;
  const hasAll = choosable.length > 0 && choosable.every((id) => chosen.includes(id));
  return (
    <div class="send-again">
      {(isShown || (disabled !== undefined && failed.size > 0)) && (
        <div class="send-again-bar" role="group" aria-label="Send failed events again">
          {disabled !== undefined && <span class="choose-all">{countOf(failed.size, "failed event")}</span>}
          {disabled === undefined && choosable.length + chosen.length > 0 && (
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
          )}
          {(chosen.length > 0 || disabled !== undefined) && (
            <ActionButton
              look={disabled === undefined ? "primary" : "plain"}
              pending={sending.pending}
              disabled={disabled !== undefined}
              onClick={() => (chosen.length > 1 ? setAsking(true) : sending.run())}
              aria-describedby={whyId}
            >
              Send again
            </ActionButton>
          )}
          <p class="hint" id={whyId}>
            {disabled ?? leftOut}
          </p>
        </div>
      )}
      {asking && (
        <ConfirmDialog
          title={`Send ${chosen.length} events again?`}
          confirm="Send again"
          action={sending}
          onClose={() => {
            setAsking(false);
            sending.clear();
          }}
        >
          <p>
            The bridge posts their messages in its chat now. They keep their ids, so a bridge ignores an event
            that it already has.
          </p>
          {leftOut !== undefined && <p>{leftOut}</p>}
        </ConfirmDialog>
      )}
      <ErrorNotice error={asking ? error : (sending.error ?? error)} />
      <div role="status">
        {results !== undefined && <Results results={results} onClose={() => setResults(undefined)} />}
      </div>
    </div>
  );
}

/** Says how many events were queued, and why the other events were not queued. */
function Results({ results, onClose }: { readonly results: SentResults; onClose(): void }) {
  const unsent = results.filter(({ result }) => result !== "queued");
  return (
    <div class="sent-results" tabIndex={-1} ref={takeFocus}>
      <Notice tone={unsent.length === 0 ? "good" : "warn"}>
        {countOf(results.length - unsent.length, "event")} of {results.length} queued. New attempts appear in
        the log.
      </Notice>
      {unsent.length > 0 && (
        // The list can scroll, so it must be focusable for keyboard users.
        <ul tabIndex={0} aria-label="Events that were not queued">
          {unsent.map(({ eventId, result }) => (
            <li key={eventId}>
              <code>{eventId}</code> {SENT_WORDS[result]}
            </li>
          ))}
        </ul>
      )}
      <ActionButton onClick={onClose}>Close</ActionButton>
    </div>
  );
}
