import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import fastify from "fastify";
import { listening } from "../../runtime/listen-fault";
import { REQUEST_TIMEOUTS } from "../../runtime/request-timeouts";
import type { HostPort } from "../../runtime/settings";

/**
 * Serves the pictures of questions as `GET /<name>.png`, because a message contains
 * only the URL of its image. Resolves when the listener is ready.
 */
export async function listenForPictures(at: HostPort) {
  const app = fastify({
    requestTimeout: REQUEST_TIMEOUTS.requestTimeout,
    http: REQUEST_TIMEOUTS,
    forceCloseConnections: true,
  });
  await app.register(fastifyStatic, { root: join(__dirname, "pictures"), maxAge: "1d" });
  await listening("PICTURES_LISTEN", app.listen(at));
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
