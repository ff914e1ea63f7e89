import { Agent } from "undici";
import type { Measure } from "../rounds";
import { signatureOf } from "../load/signed-requests";
import { serveWorker } from "../worker";

/** The reference for pushes: a client that only POSTs the same bytes as core's pushes. */
export type PushReference = typeof calls;

export interface PushReferenceInput {
  readonly origin: string;
  readonly ca: string;
  readonly body: Uint8Array;
  /** Number of concurrent requests, each on its own connection. */
  readonly concurrency: number;
  readonly seconds: number;
}

let agent: Agent | undefined;
let sent = 0;

const calls = {
  async run({ origin, ca, body, concurrency, seconds }: PushReferenceInput): Promise<Measure> {
    agent ??= new Agent({ connections: concurrency, pipelining: 1, connect: { ca } });
    const dispatcher = agent;
    const bytes = Buffer.from(body);
    const signature = signatureOf("any secret", bytes);
    const fromMs = Date.now();
    const endMs = fromMs + seconds * 1000;
    let count = 0;
    const work = async (): Promise<void> => {
      while (Date.now() < endMs) {
        const { statusCode, body: answer } = await dispatcher.request({
          origin,
          path: "/events",
          method: "POST",
          headers: {
            "Content-Type": "application/json",
            "Service-Signature": signature,
            "Service-Event-Id": `evt_${String(++sent).padStart(26, "0")}`,
            "Service-Workspace": "00000000-0000-0000-0000-000000000000",
          },
          body: bytes,
        });
        if (statusCode !== 204) throw new Error(`the receiver answered with ${statusCode}`);
        await answer.dump();
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return { count, fromMs, toMs: Date.now() };
  },
};

serveWorker(calls);
