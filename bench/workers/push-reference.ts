import { Agent } from "undici";
import type { Measure } from "../slices";
import { signatureOf } from "../load/signed-requests";
import { serveWorker } from "../worker";

/** The reference for pushes: a client that only POSTs the same bytes as core's pushes. */
export type PushReference = typeof calls;

export interface PushTarget {
  readonly origin: string;
  readonly ca: string;
  readonly body: Uint8Array;
  /** Number of concurrent requests, each on its own connection. */
  readonly concurrency: number;
}

let agent: Agent | undefined;
let target: PushTarget | undefined;
let sent = 0;

const calls = {
  /** Sets the target of the requests. */
  async connect(to: PushTarget): Promise<void> {
    target = to;
    agent ??= new Agent({ connections: to.concurrency, pipelining: 1, connect: { ca: to.ca } });
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Measure> {
    const dispatcher = agent;
    if (target === undefined || dispatcher === undefined)
      throw new Error("the target is unknown: call connect first");
    const { origin, concurrency } = target;
    const bytes = Buffer.from(target.body);
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
