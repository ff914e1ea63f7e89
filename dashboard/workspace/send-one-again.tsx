import { useId, useState } from "preact/hooks";
import type { DeliveryShape } from "../../proto/json/shapes";
import { takeFocus } from "../focus";
import { ActionButton } from "../parts/action-button";
import { Instant } from "../parts/instant";
import { ErrorNotice, Notice } from "../parts/notice";
import { useAction } from "../use-action";
import { EXPIRY_WORDS, SENT_WORDS } from "../words/send-again-words";
import type { SendAgain, SentResults } from "./use-send-again";

/** The button that resends the failed event of an open row, if the service still stores the event. */
export function SendOneAgain({
  delivery: { eventId },
  sendAgain,
}: {
  readonly delivery: Pick<DeliveryShape, "eventId">;
  readonly sendAgain: SendAgain;
}) {
  const [sent, setSent] = useState<SentResults[number] | undefined>(undefined);
  const whyId = useId();
  const sending = useAction(async () => {
    setSent(undefined);
    setSent((await sendAgain.send([eventId]))[0]);
  });
  const { disabled, failed, sendable } = sendAgain;
  const kept = failed.get(eventId);
  return (
    <>
      {kept !== undefined && (
        <div class="row">
          <ActionButton
            pending={sending.pending}
            disabled={!sendable.has(eventId)}
            onClick={() => sending.run()}
            aria-describedby={whyId}
          >
            Send again
          </ActionButton>
          <p class="hint" id={whyId}>
            {disabled ??
              (kept.sendAgainUntil === null ? (
                `The event has expired, so it cannot be sent again. ${EXPIRY_WORDS}`
              ) : (
                <>
                  Possible until <Instant at={kept.sendAgainUntil} />.
                </>
              ))}
          </p>
        </div>
      )}
      <ErrorNotice error={sending.error} />
      <div role="status">
        {sent !== undefined && (
          <div tabIndex={-1} ref={takeFocus}>
            <Notice tone={sent.result === "queued" ? "good" : "warn"}>{SENT_WORDS[sent.result]}</Notice>
          </div>
        )}
      </div>
    </>
  );
}
