import fastify from "fastify";

const BODY_MAX_BYTES = 1024 * 1024;
/**
 * Milliseconds within which a whole request must arrive. The service waits no longer than this for the answer to a
 * push.
 */
const REQUEST_WITHIN_MS = 5_000;
/** A request that does not arrive in time is answered with 408 at most a second later. */
const TIMEOUTS = {
  headersTimeout: REQUEST_WITHIN_MS,
  requestTimeout: REQUEST_WITHIN_MS,
  connectionsCheckingInterval: 1_000,
} as const;

/**
 * Creates an HTTP server, or an HTTPS server if `tls` is given. The server's routes get the
 * exact bytes of a body, because a signature covers the bytes.
 */
export function createRawServer(tls: { readonly cert: Buffer; readonly key: Buffer } | null) {
  const app = fastify({
    ...(tls === null ? { http: TIMEOUTS } : { https: { ...TIMEOUTS, ...tls } }),
    requestTimeout: REQUEST_WITHIN_MS,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  return app;
}
