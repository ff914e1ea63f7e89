import { KIND_RULES } from "../../contract/messages";
import type { OutboundContent } from "./outbound-event";

/** Whether a failed push of the event is retried. Other updates are replaced by the next one; a late ping is useless. */
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
