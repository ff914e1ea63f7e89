import { KIND_RULES } from "../../contract/messages";
import type { OutboundContent } from "./outbound-event";

/**
 * Whether a failed push of the event is retried ("Delivery, retries and expiry"). An update is retried if it starts a
 * phase. Other updates are not retried, because the next update replaces them. A ping is not retried, because a late
 * ping is useless. `RETRY_OFFSETS_MS` has the times of the retries. `conclude` in delivery/event-attempts.ts starts
 * the retries, and `tryToPush` in delivery/push-attempt.ts skips expired events.
 */
export function isRetried(content: OutboundContent | { readonly type: "ping" }): boolean {
  switch (content.type) {
    case "message.create":
    case "dm.create":
    case "message.ephemeral":
      return true;
    case "message.update":
      return KIND_RULES[content.message.kind].startsPhase;
    case "ping":
      return false;
  }
}
