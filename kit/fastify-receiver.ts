import type { FastifyInstance } from "fastify";
import type { Receiver } from "./receiver";

/**
 * Returns a Fastify plugin that receives pushes at `path` (bridge guide, "Receive pushes"). To use the plugin, call
 * `await app.register(fastifyReceiver(receiver, "/events"))`. The receiver reads the raw bytes itself, so the app's
 * body parsers, body limit and error handler do not apply. `onRequest` hooks that were added earlier run first.
 * `app.close()` closes the receiver.
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
        throw new Error("Fastify called the handler of a hijacked request");
      },
    });
  };
}
