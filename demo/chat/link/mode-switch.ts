import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

const ANSWER_WITHIN_MS = 15_000;

/**
 * Asks the program that started this chat to set the workspace's target URL, or
 * to clear that URL when `targetUrl` is empty. The program listens on a Unix
 * socket, and sets only the URL for pushes to this chat. So the chat, which is
 * open to anyone, needs no operator's token.
 *
 * Rejects with an Error whose message can be shown to members.
 */
export async function setTargetUrl(socketPath: string, targetUrl: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const asked = request({ socketPath, method: "PUT", path: "/target-url", headers, signal });
  asked.end(JSON.stringify({ targetUrl }));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  if (answer.statusCode !== 204) throw new Error((await text(answer)).trim());
  answer.resume();
}
