import { receivePushes, type Certificate } from "../load/receive-pushes";
import { serveWorker } from "../worker";

/** A bridge that receives pushes: answers all requests with 204, and counts requests and distinct events. */
export type PushReceiver = typeof calls;

const seen = new Set<string>();
let requests = 0;
let sample: Buffer = Buffer.alloc(0);

const calls = {
  start: (certificate: Certificate): Promise<number> =>
    receivePushes(certificate, ({ headers }, body, response) => {
      requests += 1;
      seen.add(String(headers["service-event-id"]));
      if (sample.length === 0) sample = body;
      response.writeHead(204).end();
    }),

  /** Returns the number of requests and of distinct events since the last reset. */
  counts: async (_input: undefined) => ({ requests, events: seen.size }),

  /** Returns the body of the first request. */
  sample: async (_input: undefined): Promise<Uint8Array> => sample,

  async reset(_input: undefined): Promise<void> {
    seen.clear();
    requests = 0;
  },
};

serveWorker(calls);
