import type { ServiceError } from "@grpc/grpc-js";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { Operator } from "./operator";

/**
 * Lets the demo chat switch between polling and pushes. The chat can only set one
 * target URL on one workspace, and clear it. So the chat, whose page anybody may
 * open, needs no operator token.
 */
export interface TargetUrlSwitch {
  close(): Promise<void>;
}

export interface TargetUrlSwitchOptions {
  /** Path of the Unix socket to listen on. Everybody with access to its folder can use it. */
  readonly socketPath: string;
  readonly operator: Operator;
  readonly workspaceId: string;
  /** The only URL that can be set. The same URL with another port is from an earlier run. */
  readonly targetUrl: string;
}

const BODY_MAX_BYTES = 4096;

/** Starts a server that answers `PUT /target-url` with `{"targetUrl": …}`: 204, or an error with a text. */
export async function startTargetUrlSwitch(options: TargetUrlSwitchOptions): Promise<TargetUrlSwitch> {
  const { socketPath, operator, workspaceId, targetUrl } = options;

  async function turn(wanted: string): Promise<void> {
    if (wanted !== "") return operator.setTargetUrl(workspaceId, wanted);
    const current = (await operator.find(workspaceId))?.targetUrl ?? "";
    // A URL that a user has set for another bridge is kept.
    if (isSamePlace(current, targetUrl)) await operator.setTargetUrl(workspaceId, "");
  }

  const server = createServer((request, response) => {
    const answer = (status: number, words = ""): void =>
      void response.writeHead(status, { "content-type": "text/plain" }).end(words);
    void (async () => {
      const wanted = await readTargetUrl(request);
      if (request.method !== "PUT" || request.url !== "/target-url" || wanted === undefined) {
        return answer(400, 'send PUT /target-url with {"targetUrl": "…"}');
      }
      if (wanted !== "" && wanted !== targetUrl) return answer(403, `only ${targetUrl} can be set`);
      await turn(wanted);
      return answer(204);
    })().catch((error: ServiceError) =>
      answer(502, `core cannot set the target URL: ${error.details ?? error.message}`),
    );
  });
  rmSync(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, "listening");
  return {
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function isSamePlace(current: string, ours: string): boolean {
  if (!URL.canParse(current)) return false;
  const [a, b] = [new URL(current), new URL(ours)];
  return a.hostname === b.hostname && a.pathname === b.pathname;
}

async function readTargetUrl(request: IncomingMessage): Promise<string | undefined> {
  let text = "";
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.length > BODY_MAX_BYTES) return undefined;
  }
  try {
    const { targetUrl } = JSON.parse(text) as { targetUrl?: unknown };
    return typeof targetUrl === "string" ? targetUrl : undefined;
  } catch {
    return undefined;
  }
}
