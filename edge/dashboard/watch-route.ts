import { PassThrough } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { sendError } from "../public-listener";
import { coreAnswer, isServiceError, NO_WORKSPACE } from "./core-answer";
import type { Session } from "./sessions";
import type { Operator } from "./workspace-client";
import { toDeliveryShape, toHealthShape } from "./workspace-json";

export interface WatchContext {
  sessionOf(request: FastifyRequest): Session | undefined;
  operatorOf(request: FastifyRequest): Operator;
  /** Aborted when the edge stops: watches are ended. */
  readonly stopping: AbortSignal;
  report(where: string, error: unknown): void;
}

/** Each has core look at the workspace several times a second. */
const WATCHES_MAX = 200;
/** Keeps proxies from ending a watch where nothing happens, and finds out who has gone. */
const BEAT_EVERY_MS = 15_000;
const COME_BACK_AFTER_MS = 2_000;
/** A reader that is so far behind is not reading any more. */
const UNREAD_MAX_BYTES = 1024 * 1024;

/**
 * `GET /workspaces/:id/watch`: what happens to a workspace as it happens, as
 * server-sent events: `health`, `delivery`, and `gone` when it was deleted. The
 * browser comes back by itself when the stream ends otherwise.
 */
export function addWatchRoute(app: FastifyInstance, context: WatchContext): void {
  const { sessionOf, operatorOf, stopping, report } = context;
  let watches = 0;

  app.get<{ Params: { id: string } }>("/workspaces/:id/watch", async (request, reply) => {
    if (watches >= WATCHES_MAX) {
      const message = "Too many pages watch workspaces right now. This one shows what was last known.";
      return sendError(reply, { status: 503, message, retryAfterSeconds: 10 });
    }
    const over = AbortSignal.any([stopping, sessionOf(request)?.over ?? AbortSignal.abort()]);
    const out = new PassThrough({ highWaterMark: UNREAD_MAX_BYTES });
    const changes = operatorOf(request).watch(request.params.id);

    const send = (event: string, data: unknown): void => {
      out.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      if (out.writableLength + out.readableLength > UNREAD_MAX_BYTES) out.destroy();
    };
    const beat = setInterval(() => {
      if (sessionOf(request) === undefined) out.end();
      else out.write(": here\n\n");
    }, BEAT_EVERY_MS);
    const end = (): void => void out.end();
    watches++;
    over.addEventListener("abort", end, { once: true });
    out.once("close", () => {
      watches--;
      clearInterval(beat);
      over.removeEventListener("abort", end);
      changes.cancel();
    });

    changes.on("data", (change: WatchWorkspaceResponse) => {
      if (change.change?.$case === "health") send("health", toHealthShape(change.change.value));
      if (change.change?.$case === "delivery") send("delivery", toDeliveryShape(change.change.value));
    });
    changes.on("end", end);
    changes.on("error", (error: Error) => {
      const answer = isServiceError(error) ? coreAnswer(error) : undefined;
      if (answer === NO_WORKSPACE) send("gone", {});
      else if (answer === undefined) report("watch", error);
      end();
    });
    if (over.aborted) end();

    out.write(`retry: ${COME_BACK_AFTER_MS}\n\n`);
    return reply.type("text/event-stream").header("x-accel-buffering", "no").send(out);
  });
}
