import fastify from "fastify";

const BODY_MAX_BYTES = 1024 * 1024;

/**
 * Creates an HTTP server, or an HTTPS server if `tls` is given. The server's routes get the
 * exact bytes of a body, because a signature covers the bytes.
 */
export function createRawServer(tls: { readonly cert: Buffer; readonly key: Buffer } | null) {
  const app = fastify({
    https: tls,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  return app;
}
