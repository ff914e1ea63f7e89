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
import type { Session } from "./session";
import type { OperatorOf } from "./workspace-client";
import { toRequestsShape } from "../../proto/json/request-json";
import { toDeliveryShape, toHealthShape } from "../../proto/json/workspace-json";

export interface WatchContext {
  /** Resolves to undefined when the session has ended. Rejects when core is unavailable. */
  sessionOf(request: FastifyRequest): Promise<Session | undefined>;
  readonly operatorOf: OperatorOf;
  /** Aborted when the edge stops. All watches then end. */
  readonly stopping: AbortSignal;
  report(where: string, error: unknown): void;
}

/** Maximum number of open watches: in total on this edge, for one session, and for all sessions with one token. */
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
/** Milliseconds without a message after which core counts as unavailable. Core sends a heartbeat every second. */
const SILENT_AFTER_MS = 3_000;
/** Milliseconds after which the browser reconnects a broken stream. */
const COME_BACK_AFTER_MS = 2_000;
/** Maximum unread bytes of a stream. The edge disconnects a browser that leaves more bytes unread. */
const UNREAD_MAX_BYTES = 1024 * 1024;

/**
 * Adds `GET /workspaces/:id/watch`, which streams the changes of a workspace as server-sent events (SSE): `health`,
 * `delivery`, `requests`, and `gone` when the workspace is deleted. Every 2 s, the route sends `available` if core
 * answers, or `unavailable` if core does not.
 *
 * When core disconnects, the route sends `unavailable` immediately. When core or its connection hangs, the route sends
 * `unavailable` after `SILENT_AFTER_MS`. When core is available again, the first event is `health` or `available`.
 * After that event, the front end reloads all data, because missed deliveries are not sent again. When the stream ends,
 * the browser reopens it.
 */
export function addWatchRoute(app: FastifyInstance, context: WatchContext): void {
  const shares = createShares(WATCHES_MAX);
  app.get("/workspaces/:id/watch", { exposeHeadRoute: false }, async (request: WatchRequest, reply) => {
    const session = await context.sessionOf(request);
    if (session === undefined) return sendError(reply, SIGNED_OUT);
    const { key, tokenName, isLimited } = session;
    const token = isLimited ? { limitedToken: tokenName } : { token: tokenName };
    const release = shares.acquire({ session: key, ...token });
    if (typeof release === "string") {
      const message = `${TOO_MANY[release]} This page shows the last known state.`;
      return sendError(reply, { status: 503, message, retryAfterSeconds: 10 });
    }
    const { out } = new Watch(request, context, AbortSignal.any([context.stopping, session.over]));
    out.once("close", release);
    return reply.type("text/event-stream").header("x-accel-buffering", "no").send(out);
  });
}

type WatchRequest = FastifyRequest<{ Params: { id: string } }>;
type Changes = ClientReadableStream<WatchWorkspaceResponse>;
type State =
  | { readonly is: "lost" }
  | { readonly is: "silent"; readonly changes: Changes }
  | { readonly is: "heard"; readonly changes: Changes; readonly silence: NodeJS.Timeout };

const NEXT: Readonly<Record<State["is"], readonly State["is"][]>> = {
  lost: ["silent"],
  silent: ["heard", "lost"],
  heard: ["silent", "lost"],
};

/**
 * The watch of one page, with a stream of changes from core. The states of the stream:
 *
 *            the next heartbeat          a message
 *   lost ────────────────────────▶ silent ───────────▶ heard
 *    ▲                              │  ▲                │ │
 *    │        the stream ends       │  └──── silence ───┘ │
 *    └──────────────────────────────┴─────────────────────┘
 *
 * When the page's connection closes, the watch cancels its stream from core, and does not open another.
 */
class Watch {
  /** The server-sent events. */
  readonly out = new PassThrough({ highWaterMark: UNREAD_MAX_BYTES });
  #state: State = { is: "lost" };
  readonly #request: WatchRequest;
  readonly #context: WatchContext;

  /** @param over aborted when the watch must end */
  constructor(request: WatchRequest, context: WatchContext, over: AbortSignal) {
    this.#request = request;
    this.#context = context;
    this.out.write(`retry: ${COME_BACK_AFTER_MS}\n\n`);
    const beat = setInterval(() => this.#beat(), BEAT_EVERY_MS);
    const end = (): void => void this.out.end();
    over.addEventListener("abort", end, { once: true });
    this.out.once("close", () => {
      clearInterval(beat);
      over.removeEventListener("abort", end);
      if (this.#state.is === "lost") return;
      this.#state.changes.cancel();
      this.#enter({ is: "lost" });
    });
    this.#follow();
    if (over.aborted) end();
  }

  #enter(next: State): void {
    const last = this.#state;
    if (!NEXT[last.is].includes(next.is)) {
      throw new Error(`a watch cannot go from ${last.is} to ${next.is}`);
    }
    this.#state = next;
    if (last.is !== "heard") return;
    clearTimeout(last.silence);
    this.#send("unavailable", {});
  }

  #send(event: string, data: unknown): void {
    const { out } = this;
    if (!out.writable) return;
    out.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (out.writableLength + out.readableLength > UNREAD_MAX_BYTES) out.destroy();
  }

  #beat(): void {
    void this.#endWithSession();
    this.#send(this.#state.is === "heard" ? "available" : "unavailable", {});
    if (this.#state.is === "lost" && this.out.writable) this.#follow();
  }

  /** Ends the watch if the session has ended, e.g. at another edge. */
  async #endWithSession(): Promise<void> {
    try {
      if ((await this.#context.sessionOf(this.#request)) === undefined) this.out.end();
    } catch {
      // Core is unavailable. The heartbeat already says so.
    }
  }

  #follow(): void {
    const changes = this.#context.operatorOf(this.#request).watch(this.#request.params.id);
    this.#enter({ is: "silent", changes });
    changes.on("data", ({ change }: WatchWorkspaceResponse) => {
      if (!this.#isOn(changes)) return;
      const wasHeard = this.#hear(changes);
      if (change?.$case === "health") this.#send("health", toHealthShape(change.value));
      else if (change?.$case === "requests") this.#send("requests", toRequestsShape(change.value));
      else if (change?.$case === "delivery") this.#send("delivery", toDeliveryShape(change.value));
      else if (!wasHeard) this.#send("available", {});
    });
    changes.on("end", () => this.#lose(changes));
    changes.on("error", (error: Error) => {
      const answer = isServiceError(error) ? coreAnswer(error) : undefined;
      if (answer === CORE_AWAY || answer?.status === TOO_MANY_CALLS) return this.#lose(changes);
      if (answer === NO_WORKSPACE) this.#send("gone", {});
      else if (answer === undefined) this.#context.report("watch", error);
      this.out.end();
    });
  }

  #isOn(changes: Changes): boolean {
    return this.#state.is !== "lost" && this.#state.changes === changes;
  }

  /**
   * Records that a message from core has arrived. Returns false for the first message of a stream, and for the first
   * message after core was silent.
   */
  #hear(changes: Changes): boolean {
    if (this.#state.is === "heard") {
      this.#state.silence.refresh();
      return true;
    }
    const silence = setTimeout(() => this.#enter({ is: "silent", changes }), SILENT_AFTER_MS);
    this.#enter({ is: "heard", changes, silence });
    return false;
  }

  #lose(changes: Changes): void {
    if (this.#isOn(changes)) this.#enter({ is: "lost" });
  }
}
