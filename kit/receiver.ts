import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody, type NoBody } from "./read-body";
import {
  createPushReceiver,
  refusal,
  type PushAnswer,
  type PushOptions,
  type PushReceiver,
} from "./receive-push";

export interface ReceiverOptions extends PushOptions {
  /** Maximum length of a body in bytes, 1 MiB by default. A longer body is answered with `413`. */
  readonly bodyMaxBytes?: number;
}

export interface Receiver extends PushReceiver {
  /**
   * Answers a push. Works with `http.createServer(receiver.handler)`, and as a route of any framework that gives access
   * to Node's request and response. An earlier body parser must either leave the body unread, or put it into
   * `request.body` as bytes or a string. Sends the answer that `receive` returns, or answers with `405`, `408`, `413`
   * or `500` without calling `receive`.
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Time limit for receiving a body, in ms. After this time, the service no longer waits for an answer. */
const BODY_WITHIN_MS = 5_000;

const NO_BODY: Readonly<Record<Exclude<NoBody, "broken">, PushAnswer>> = {
  "too-large": refusal(413, "the body is too large", { connection: "close" }),
  "too-late": refusal(408, "the body did not arrive in time", { connection: "close" }),
  taken: refusal(
    500,
    "a body parser consumed the signed raw bytes: mount the receiver before that parser, or make it leave the body of this route as a Buffer or a string",
  ),
};

/** Makes a receiver of pushes for Node's HTTP server (bridge guide, "Receive pushes"). */
export function createReceiver(options: ReceiverOptions): Receiver {
  const pushes = createPushReceiver(options);
  const bounds = { maxBytes: options.bodyMaxBytes ?? 1024 * 1024, withinMs: BODY_WITHIN_MS };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return send(response, refusal(405, "send a POST", { allow: "POST" }));
    const body = await readBody(request, bounds);
    if (typeof body !== "string") return send(response, await pushes.receive(request.headers, body));
    if (body !== "broken") send(response, NO_BODY[body]);
  }

  return {
    receive: pushes.receive,
    get pending() {
      return pushes.pending;
    },
    close: pushes.close,
    handler(request, response) {
      // If the answer cannot be sent, there is nothing to do: the service treats the push as failed.
      response.on("error", () => undefined);
      answer(request, response).catch(() => response.destroy());
    },
  };
}

function send(response: ServerResponse, { status, headers, body }: PushAnswer): void {
  response.writeHead(status, headers).end(body);
}
