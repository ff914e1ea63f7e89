import { RESULT_MEANINGS } from "../../contract/deliveries";
import type { DeliveryShape } from "../../proto/json/shapes";
import { ToneBadge } from "../parts/badge";

const TONES = { success: "good", failed: "bad", dropped: "warn" } as const;

export function OutcomeBadge({ delivery: { polls, result, status } }: { readonly delivery: DeliveryShape }) {
  if (polls > 0) {
    return (
      <span class="badge tone-polls">
        <span class="dot" aria-hidden="true" />
        {polls > 1 ? `${polls.toLocaleString("en")} polls` : "Polled"}
      </span>
    );
  }
  const { outcome, words } = RESULT_MEANINGS[result];
  return <ToneBadge tone={TONES[outcome]}>{status === 0 ? words : `${words} ${status}`}</ToneBadge>;
}
