import { isSigned, type Refusal } from "../operations/refusal";
import type { Span } from "../../runtime/tracing/tracer";

/**
 * Ends core's span for a bridge's request. The span is dropped if the signature was not accepted, so that only bridges
 * with a secret can cause exports.
 */
export function endRequestSpan(
  span: Span,
  workspaceId: string,
  outcome: { readonly accepted: string } | { readonly body: Uint8Array } | Refusal,
): void {
  if ("refused" in outcome && !isSigned(outcome)) return;
  const result = "refused" in outcome ? outcome.refused : "accepted" in outcome ? outcome.accepted : "page";
  span.end({ "chatbridge.workspace.id": workspaceId, "chatbridge.result": result });
}
