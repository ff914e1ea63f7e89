import { request } from "node:http";

/**
 * Asks the program that started this chat to set the workspace's target URL, or
 * to clear it when `targetUrl` is empty. That program listens on a Unix socket
 * and accepts no other URL, so the chat, which is open to anyone, needs no
 * operator's token.
 *
 * Rejects with an Error whose message can be shown to members.
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
    asked.on("timeout", () => asked.destroy(new Error("no answer within 15 seconds")));
    asked.on("error", (error) =>
      reject(new Error(`the mode could not be changed: ${error.message}`, { cause: error })),
    );
    asked.end(body);
  });
}
