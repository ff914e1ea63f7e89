import type { DeliveryShape } from "../../proto/json/shapes";
import { Instant } from "../parts/instant";
import { attemptWords } from "../words/send-again-words";
import { OutcomeBadge } from "./outcome-badge";

/** Lists all attempts in the log for an event, oldest first. New attempts appear live. */
export function EventAttempts({
  attempts,
  shown,
}: {
  readonly attempts: readonly DeliveryShape[];
  /** The delivery whose row is open. */
  readonly shown: DeliveryShape;
}) {
  return (
    <section class="log-part">
      <h3>Attempts of this event</h3>
      <ol class="attempts" aria-live="polite">
        {attempts.map((each) => (
          <li key={each.id} {...(each.id === shown.id && { "aria-current": "true" as const })}>
            <Instant at={each.at} as="ms" />
            <OutcomeBadge delivery={each} />
            <span class="hint">
              {attemptWords(each)}
              {each.attempt > 0 && `, ${each.latencyMs} ms`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
