import type { IncomingMessage } from "node:http";
import { bytesOf } from "./push-request";

/** The reason why the raw bytes are not available. */
export type NoBody = "too-large" | "too-late" | "broken" | "taken";

/**
 * Resolves to the exact bytes of a request's body, or to the reason why they are not available. If an earlier body
 * parser has put bytes or a string into `request.body`, resolves to those bytes, or to the string encoded as UTF-8. If
 * a parser has consumed the body in any other way, the reason is `taken`.
 */
export function readBody(
  request: IncomingMessage & { readonly body?: unknown },
  { maxBytes, withinMs }: { readonly maxBytes: number; readonly withinMs: number },
): Promise<Uint8Array | NoBody> {
  const parsed = bytesOf(request.body);
  if (parsed !== undefined) return Promise.resolve(parsed.length > maxBytes ? "too-large" : parsed);
  if (request.readableDidRead) return Promise.resolve("taken");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => finish("too-late"), withinMs);
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) finish("too-large");
      else chunks.push(chunk);
    };
    const onEnd = () => finish(Buffer.concat(chunks));
    const onBroken = () => finish("broken");
    function finish(result: Uint8Array | NoBody): void {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onBroken);
      resolve(result);
    }
    // A request whose connection breaks emits `error`, `close` or both.
    request.on("data", onData).on("end", onEnd).on("close", onBroken).on("error", onBroken);
  });
}
