import { createServer, type Server } from "node:http";
import type { ShownPost } from "./terminal-chat.js";

/**
 * Serves the shown messages on a port of the loopback address, for `chat-bridge-check --observe`. Without a port,
 * returns undefined. Any program on this machine can read the messages, so set the port only for tests.
 */
export function serveShownMessages(port: number, shown: () => readonly ShownPost[]): Server | undefined {
  if (port === 0) return undefined;
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ messages: shown() }));
  });
  return server.listen(port, "127.0.0.1");
}
