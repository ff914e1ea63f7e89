import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { send } from "../../../../test/harness/bridge";
import { plainHost } from "../../../../test/harness/plain-host";

interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/**
 * Returns a faulty answer, given the correct answer, the number of the request (counted from 1) and the request's body.
 */
export type Alter = (answer: PlainAnswer, count: number, body: Buffer) => PlainAnswer;

const SENT_ON = /^(service-|retry-after$|content-type$)/;
/** The answer to an accepted event. */
export const ACCEPTED: PlainAnswer = { status: 202, headers: {}, body: Buffer.from('{"ok":true}') };

/**
 * Starts a faulty service: a proxy that alters the answers of the service at `base`. The proxy sends its requests to
 * the service from the address `from`. Without `base`, the proxy alters the answers of a stub that accepts every
 * request.
 */
export async function startBrokenService(base: string | undefined, alter: Alter, from = "127.0.0.1") {
  let count = 0;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await buffer(request);
    const right = await rightAnswer(base, request, sent, from);
    const { status, headers, body } = alter(right, ++count, sent);
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && SENT_ON.test(name)) response.setHeader(name, value);
    }
    response.writeHead(status).end(body);
  }
  const { url, close } = await plainHost((request, response) => void answer(request, response));
  return { url: new URL(url), close };
}

async function rightAnswer(base: string | undefined, request: IncomingMessage, body: Buffer, from: string) {
  if (base === undefined) return ACCEPTED;
  const { "service-signature": signature, "content-type": type } = request.headers;
  const answer = await send(base, request.url ?? "", {
    method: request.method ?? "",
    from,
    headers: {
      ...(signature === undefined ? {} : { "service-signature": String(signature) }),
      ...(type === undefined ? {} : { "content-type": type }),
    },
    ...(request.method === "POST" ? { body } : {}),
  });
  return { ...answer, headers: answer.headers as PlainAnswer["headers"] };
}
