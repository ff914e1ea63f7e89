import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "../certificate";
import { serveWorker } from "../worker";

/** A bridge that receives pushes: answers all requests with 204, and counts requests and distinct events. */
export type PushReceiver = typeof calls;

const KEEP_ALIVE_MS = 60_000;

const seen = new Set<string>();
let requests = 0;
let sample = Buffer.alloc(0);

const calls = {
  async start({ key, cert }: Certificate): Promise<number> {
    const server = createServer({ key, cert, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        requests += 1;
        seen.add(String(request.headers["service-event-id"]));
        if (sample.length === 0) sample = Buffer.concat(chunks);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },

  /** Requests and distinct events since the last reset. */
  async counts(_input: undefined): Promise<{ readonly requests: number; readonly events: number }> {
    return { requests, events: seen.size };
  },

  /** The body of the first request since the last reset. */
  async sample(_input: undefined): Promise<Uint8Array> {
    return sample;
  },

  async reset(_input: undefined): Promise<void> {
    seen.clear();
    requests = 0;
    sample = Buffer.alloc(0);
  },
};

serveWorker(calls);
