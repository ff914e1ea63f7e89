import type { MessageKind, OutboundContent } from "./outbound-event";

/** When a push is retried, in ms after its first attempt failed (contract, "Delivery, retries and expiry"). */
export const RETRY_OFFSETS_MS = [1_000, 4_000] as const;

/** Updates that start a phase. Each may be the only copy of something that the chat must show. */
const PHASE_STARTS: ReadonlySet<MessageKind> = new Set([
  "question",
  "gotcha_bait",
  "gotcha_reveal",
  "time_up",
  "game_end",
]);

/** Whether a failed push of the event is retried. Other updates are replaced by the next one; a late ping is useless. */
export function isRetried(content: OutboundContent | { readonly type: "ping" }): boolean {
  switch (content.type) {
    case "message.create":
    case "dm.create":
    case "message.ephemeral":
      return true;
    case "message.update":
      return PHASE_STARTS.has(content.message.kind);
    case "ping":
      return false;
  }
}
