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
    const headers = [
      "Content-Type",
      "application/json",
      "Service-Signature",
      signatureOf("any secret", bytes),
      "Service-Workspace",
      "00000000-0000-0000-0000-000000000000",
    ];
    const fromMs = Date.now();
    const endMs = fromMs + seconds * 1000;
    let count = 0;
    await new Promise<void>((resolve, reject) => {
      let busy = concurrency;
      const send = (): void => {
        if (Date.now() >= endMs) {
          if (--busy === 0) resolve();
          return;
        }
        const request = {
          origin,
          path: "/events",
          method: "POST" as const,
          headers: [...headers, "Service-Event-Id", `evt_${String(++sent).padStart(26, "0")}`],
          body: bytes,
        };
        let status = 0;
        dispatcher.dispatch(request, {
          onRequestStart: () => undefined,
          onResponseStart(_controller, statusCode) {
            status = statusCode;
          },
          onResponseData: () => undefined,
          onResponseEnd() {
            if (status !== 204) return reject(new Error(`the receiver answered with ${status}`));
            count += 1;
            send();
          },
          onResponseError: (_controller, error) => reject(error),
        });
      };
      for (let number = 0; number < concurrency; number++) send();
    });
    return { count, fromMs, toMs: Date.now() };
  },
};

serveWorker(calls);
