import type { IncomingHttpHeaders } from "node:http";
import { Refusal, type Refused } from "../../proto/gen/chatbridge/v1/bridge";
import type { Span, Tracer } from "../../runtime/tracing/tracer";

/** The two endpoints of the public contract, as method and route. */
export type HookName = "POST /hooks/{workspaceId}" | "GET /hooks/{workspaceId}/events";

/** The refusals of requests whose signature core accepted. */
const SIGNED: ReadonlySet<Refusal> = new Set([
  Refusal.WORKSPACE_LIMIT,
  Refusal.INVALID,
  Refusal.PUSH_WORKSPACE,
]);

/**
 * Starts the span of a bridge's request. The span continues the trace in the header `traceparent`, if it is valid.
 * Returns undefined when the request is not sampled.
 */
export function startHookSpan(
  tracer: Tracer,
  name: HookName,
  { traceparent }: IncomingHttpHeaders,
): Span | undefined {
  return tracer.start(name, "server", typeof traceparent === "string" ? traceparent : undefined);
}

/**
 * Ends the span of a request whose signature core accepted. The span of any other request is dropped, so that only
 * bridges with a secret can cause exports.
 */
export function endHookSpan(
  span: Span,
  name: HookName,
  workspaceId: string,
  status: number,
  refused?: Refused,
): void {
  if (refused !== undefined && !SIGNED.has(refused.refusal)) return;
  const [method = "", route = ""] = name.split(" ");
  span.end({
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "chatbridge.workspace.id": workspaceId,
  });
}
