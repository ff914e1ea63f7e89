import { rmSync } from "node:fs";
import type { ServiceError } from "@grpc/grpc-js";
import { failureCause } from "../../runtime/core-channel";
import type { Operator } from "./operator";

export interface TargetUrlSwitchOptions {
  /** Path of the Unix socket to listen on. Every user with access to the socket's folder can connect. */
  readonly socketPath: string;
  readonly operator: Operator;
  readonly workspaceId: string;
  /**
   * The only URL that can be set. The chat can also clear a URL that differs from this URL only in its port, because an
   * earlier run may have set it.
   */
  readonly targetUrl: string;
}

const BODY_MAX_BYTES = 4096;

/**
 * Lets the demo chat switch between polling and pushes: starts a server that accepts `PUT /target-url` with the body
 * `{"targetUrl": …}`. The chat can only set one target URL in one workspace, and clear this URL or the URL of an
 * earlier run. So the chat, which is open to anyone, needs no operator's token.
 */
export async function startTargetUrlSwitch({
  socketPath,
  operator,
  workspaceId,
  targetUrl,
}: TargetUrlSwitchOptions): Promise<{ close(): Promise<void> }> {
  // The library is loaded here, because a run without the demo does not need the library.
  const { fastify } = await import("fastify");
  const app = fastify({ bodyLimit: BODY_MAX_BYTES, forceCloseConnections: true });
  app.put<{ Body: { targetUrl?: unknown } | null }>("/target-url", async (request, reply) => {
    const wanted = request.body?.targetUrl;
    if (wanted !== "" && wanted !== targetUrl) return reply.code(403).send(`only ${targetUrl} can be set`);
    try {
      const current = (await operator.find(workspaceId))?.targetUrl;
      // A target URL that a user has set for another bridge must not be cleared.
      if (wanted === targetUrl || isSamePlace(current, targetUrl)) {
        await operator.setTargetUrl(workspaceId, wanted);
      }
    } catch (error) {
      return reply
        .code(502)
        .send(`core cannot set the target URL: ${failureCause((error as ServiceError).details)}`);
    }
    return reply.code(204).send();
  });
  rmSync(socketPath, { force: true });
  await app.listen({ path: socketPath });
  return { close: () => app.close() };
}

function isSamePlace(current: string | undefined, ours: string): boolean {
  if (current === undefined || !URL.canParse(current)) return false;
  const [a, b] = [new URL(current), new URL(ours)];
  return a.hostname === b.hostname && a.pathname === b.pathname;
}
