import type { MessageKind, OutboundContent } from "./outbound-event";

/** When a failed push is tried again, in ms after its first attempt failed ("Delivery, retries and expiry"). */
export const RETRY_OFFSETS_MS = [1_000, 4_000] as const;

/** Updates that start a phase: each may be the only copy of what the chat must show. */
const PHASE_STARTS: ReadonlySet<MessageKind> = new Set([
  "question",
  "gotcha_bait",
  "gotcha_reveal",
  "time_up",
  "game_end",
]);

/** Whether a failed push of the event is tried again. Other updates are superseded by the next; a ping asks about now. */
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
