import type { PushOutcome } from "../domain/delivery";
import type { QueuedPush } from "../ports/push-queue";
import type { Span } from "../../runtime/tracing/tracer";

/** Ends the span of one attempt to push an event. The target URL can contain a secret, so only its host is recorded. */
export function endPushSpan(
  span: Span,
  { workspaceId, eventId, eventType }: QueuedPush,
  attempt: number,
  { hostname }: URL,
  outcome: PushOutcome,
): void {
  const result = outcome.ok ? "success" : outcome.failure;
  span.end(
    {
      "http.request.method": "POST",
      "server.address": hostname,
      ...(outcome.status !== undefined && { "http.response.status_code": outcome.status }),
      "http.request.resend_count": attempt - 1,
      "messaging.message.id": eventId,
      "chatbridge.workspace.id": workspaceId,
      "chatbridge.event.type": eventType,
      "chatbridge.attempt": attempt,
      "chatbridge.result": result,
    },
    outcome.ok ? undefined : result,
  );
}
