import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";

/**
 * Minimum length in bytes of an answer that is compressed. A shorter answer fits in one packet even without
 * compression.
 */
const MIN_BYTES = 1_000;
/**
 * Maximum number of answers that are being compressed. Above this number, answers are sent uncompressed, so that they
 * use neither more memory nor a thread of Node's thread pool.
 */
const IN_PROGRESS_MAX = 2;
const ACCEPTS_GZIP = /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;
const compress = promisify(gzip);

/**
 * Compresses the text answers to GET requests, e.g. JSON. Streams are not compressed: they are live updates, or files
 * that already have compressed copies.
 *
 * The length of a compressed answer can reveal a secret that is compressed together with a text that an attacker
 * chooses (BREACH). Only answers to other methods contain secrets (signing secrets and sign-in links), so these answers
 * are not compressed. In addition, another site's page cannot send requests with the session cookie, which is
 * `SameSite=Strict`.
 */
export function compressAnswers(app: FastifyInstance): void {
  let inProgress = 0;
  app.addHook("onSend", async ({ method, headers }, reply, payload) => {
    if (method !== "GET" && method !== "HEAD") return payload;
    if (typeof payload !== "string" || Buffer.byteLength(payload) < MIN_BYTES) return payload;
    void reply.header("vary", "accept-encoding");
    if (!ACCEPTS_GZIP.test(headers["accept-encoding"] ?? "")) return payload;
    if (inProgress >= IN_PROGRESS_MAX) return payload;
    inProgress++;
    try {
      const compressed = await compress(payload);
      void reply.header("content-encoding", "gzip");
      return compressed;
    } finally {
      inProgress--;
    }
  });
}
