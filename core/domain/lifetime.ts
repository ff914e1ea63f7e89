import { KIND_RULES, type MessageKind, type OutboundType } from "../../contract/messages";
import { SHORT_LIFETIME_MS } from "../../contract/numbers";

/**
 * Returns the default lifetime (TTL) of an event in ms; null if the event never expires. An ephemeral message or a ping
 * expires after one minute.
 */
export function defaultLifetimeMs(type: OutboundType, kind: MessageKind | undefined): number | null {
  if (type === "message.ephemeral" || type === "ping" || kind === undefined) return SHORT_LIFETIME_MS;
  return KIND_RULES[kind].lifetimeMs;
}
