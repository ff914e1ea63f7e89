import type { AddressInfo } from "node:net";
import fastify from "fastify";
import type { HostPort } from "../../../runtime/settings";

const BODY_MAX_BYTES = 1024 * 1024;

/** An HTTP server whose routes get bodies as the bytes that were sent, because a signature covers the bytes. */
export function createRawServer(tls: { readonly cert: Buffer; readonly key: Buffer } | null) {
  const app = fastify({
    https: tls,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  return {
    app,
    /** Resolves with the port when the server listens. */
    async listen(at: HostPort): Promise<number> {
      await app.listen(at);
      return (app.server.address() as AddressInfo).port;
    },
  };
}

/** The bytes of a request to a raw server. */
export function bytesOf({ body }: { readonly body: unknown }): Uint8Array {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}
