import { request } from "node:http";

/**
 * Asks whoever started this chat to set the workspace's target URL, or with an
 * empty one to clear it. They listen on a Unix socket, and let us set no other
 * URL: so the chat, which anybody may open, needs no operator's token.
 *
 * Rejects with an Error in words for people.
 */
export function setTargetUrl(socketPath: string, targetUrl: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ targetUrl });
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request({ socketPath, method: "PUT", path: "/target-url", headers, timeout: 15_000 });
    asked.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => (answer.statusCode === 204 ? resolve() : reject(new Error(text.trim()))));
    });
    asked.on("timeout", () => asked.destroy(new Error("it took too long")));
    asked.on("error", (error) =>
      reject(new Error(`the mode could not be changed: ${error.message}`, { cause: error })),
    );
    asked.end(body);
  });
}
