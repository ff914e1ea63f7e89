import type { FastifyInstance } from "fastify";
import type { Receiver } from "./receiver";

/**
 * A Fastify plugin that receives pushes at `path` ("Outbound pushes"): `await app.register(fastifyReceiver(receiver,
 * "/events"))`. The receiver reads the raw bytes itself, so the app's own body parsers, limits and error handler
 * have no part in it; `onRequest` hooks that were added before it run first. `app.close()` closes the receiver.
 */
export function fastifyReceiver(
  receiver: Pick<Receiver, "handler" | "close">,
  path: string,
): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    app.addHook("onClose", () => receiver.close());
    app.route({
      method: "POST",
      url: path,
      onRequest(request, reply, _done) {
        reply.hijack();
        receiver.handler(request.raw, reply.raw);
      },
      handler() {
        throw new Error("a hijacked request has come this far");
      },
    });
  };
}
