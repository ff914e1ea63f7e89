import { PassThrough } from "node:stream";
import type { ClientReadableStream } from "@grpc/grpc-js";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { sendError } from "../public/public-listener";
import { createShares } from "../../runtime/shares";
import {
  CORE_AWAY,
  coreAnswer,
  isServiceError,
  NO_WORKSPACE,
  SIGNED_OUT,
  TOO_MANY as TOO_MANY_CALLS,
} from "./core-answer";
import type { Session } from "./sessions";
import type { Operator } from "./workspace-client";
import { toDeliveryShape, toHealthShape } from "../../proto/json/workspace-json";

export interface WatchContext {
  sessionOf(request: FastifyRequest): Session | undefined;
  operatorOf(request: FastifyRequest): Operator;
  /** Aborted when the edge stops. All watches then end. */
  readonly stopping: AbortSignal;
  report(where: string, error: unknown): void;
}

/** Maximum number of open watches of an edge, of one session, and of all sessions of one token. */
const WATCHES_MAX = { all: 200, session: 20, token: 100, limitedToken: 40 } as const;
const TOO_MANY = {
  all: "Too many pages are watching workspaces.",
  session: `You have ${WATCHES_MAX.session} pages open: close some.`,
  token: "Too many pages of people with your token are watching workspaces: close some.",
  limitedToken: "Too many pages of people with your token are watching workspaces: close some.",
} as const;
/**
 * Milliseconds between heartbeats. A heartbeat says whether core answers, and helps to detect a closed connection. The
 * front end considers a stream broken after 5 s without any event.
 */
const BEAT_EVERY_MS = 2_000;
/** Milliseconds without a message after which core is unavailable. Core sends a heartbeat every second. */
const SILENT_AFTER_MS = 3_000;
const COME_BACK_AFTER_MS = 2_000;
/** Maximum unread bytes of a stream. A browser with more unread bytes is considered stuck, and is disconnected. */
const UNREAD_MAX_BYTES = 1024 * 1024;

/**
 * Adds `GET /workspaces/:id/watch`, which streams the changes of a workspace as server-sent events: `health`,
 * `delivery`, and `gone` when the workspace is deleted. Every 2 s, the route sends `available` if core answers, or
 * `unavailable` if core does not.
 *
 * When core disconnects, the route sends `unavailable` immediately. When core or its connection hangs, the route sends
 * `unavailable` after `SILENT_AFTER_MS`. When core is available again, the first event is `health` or `available`. The
 * front end then reads everything again, because missed deliveries are not repeated. When the stream ends, the browser
 * reopens it.
 */
export function addWatchRoute(app: FastifyInstance, context: WatchContext): void {
  const { sessionOf, operatorOf, stopping, report } = context;
  const shares = createShares(WATCHES_MAX);

  app.get<{ Params: { id: string } }>(
    "/workspaces/:id/watch",
    { exposeHeadRoute: false },
    async (request, reply) => {
      const session = sessionOf(request);
      if (session === undefined) return sendError(reply, SIGNED_OUT);
      const { key, tokenName, workspaces } = session;
      const token = workspaces === null ? { token: tokenName } : { limitedToken: tokenName };
      const release = shares.acquire({ session: key, ...token });
      if (typeof release === "string") {
        const message = `${TOO_MANY[release]} This page shows the last known state.`;
        return sendError(reply, { status: 503, message, retryAfterSeconds: 10 });
      }
      const over = AbortSignal.any([stopping, session.over]);
      const out = new PassThrough({ highWaterMark: UNREAD_MAX_BYTES });
      out.write(`retry: ${COME_BACK_AFTER_MS}\n\n`);
      /** Core's stream; undefined when the stream must be reopened. */
      let changes: ClientReadableStream<WatchWorkspaceResponse> | undefined;
      /** Whether the stream has delivered a message within `SILENT_AFTER_MS`. */
      let isCoreHere = false;
      let silence: ReturnType<typeof setTimeout> | undefined;

      const send = (event: string, data: unknown): void => {
        if (!out.writable) return;
        out.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        if (out.writableLength + out.readableLength > UNREAD_MAX_BYTES) out.destroy();
      };
      const beat = setInterval(() => {
        if (sessionOf(request) === undefined) return end();
        send(isCoreHere ? "available" : "unavailable", {});
        if (changes === undefined && out.writable) follow();
      }, BEAT_EVERY_MS);
      const end = (): void => void out.end();
      over.addEventListener("abort", end, { once: true });
      out.once("close", () => {
        release();
        clearInterval(beat);
        clearTimeout(silence);
        over.removeEventListener("abort", end);
        changes?.cancel();
      });

      /** Records that core is unavailable. */
      function miss(): void {
        clearTimeout(silence);
        if (isCoreHere) send("unavailable", {});
        isCoreHere = false;
      }

      function follow(): void {
        const stream = operatorOf(request).watch(request.params.id);
        changes = stream;
        stream.on("data", ({ change }: WatchWorkspaceResponse) => {
          if (changes !== stream) return;
          clearTimeout(silence);
          silence = setTimeout(miss, SILENT_AFTER_MS);
          if (change?.$case === "health") send("health", toHealthShape(change.value));
          else if (change?.$case === "delivery") send("delivery", toDeliveryShape(change.value));
          else if (!isCoreHere) send("available", {});
          isCoreHere = true;
        });
        const lose = (): void => {
          if (changes !== stream) return;
          changes = undefined;
          miss();
        };
        stream.on("end", lose);
        stream.on("error", (error: Error) => {
          const answer = isServiceError(error) ? coreAnswer(error) : undefined;
          if (answer === CORE_AWAY || answer?.status === TOO_MANY_CALLS) return lose();
          if (answer === NO_WORKSPACE) send("gone", {});
          else if (answer === undefined) report("watch", error);
          end();
        });
      }
      follow();
      if (over.aborted) end();
      return reply.type("text/event-stream").header("x-accel-buffering", "no").send(out);
    },
  );
}
