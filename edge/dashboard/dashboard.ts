import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { CoreConnection } from "../../runtime/core-connection";
import type { CoreCredentials } from "../../runtime/core-credentials";
import { limitConnections, networkOf } from "../../runtime/limit-connections";
import { createRefusalPace } from "../../runtime/refusal-pace";
import { REQUEST_TIMEOUTS } from "../../runtime/request-timeouts";
import type { HostPort } from "../../runtime/settings";
import type { ErrorAnswer } from "../public/error-body";
import { addOpenApiRoute } from "../openapi/routes";
import { sendError } from "../public/public-listener";
import { canonicalAddress } from "../public/source-address";
import { compressAnswers } from "./compress-answers";
import { CORE_TOO_OLD, coreAnswer, FAULT, isServiceError, SIGNED_OUT, TOO_MANY } from "./core-answer";
import { addHealthRoute } from "./health-route";
import { addPages, createNotFound, findRelease, NOTHING_HERE } from "./pages";
import { CoreTooOld } from "./find-workspaces";
import { addSummariesRoutes } from "./summaries-route";
import { guardApi, secureHeaders } from "./page-guard";
import { createSealedClient, SessionsUnavailable } from "./sealed-client";
import {
  addSessionRoutes,
  currentSession,
  usedSession,
  type DemoChat,
  type SessionContext,
} from "./session-routes";
import type { Session } from "./session";
import { createSessions } from "./sessions";
import { createSignInLimit } from "./sign-in-limit";
import { addSignatureRoute } from "./signature-route";
import { addWatchRoute } from "./watch-route";
import { addFailedEventsRoute, addStoredRoutes } from "./stored-routes";
import { createWorkspaceClient, type OperatorOf } from "./workspace-client";
import { addConnectionRoutes, addWorkspaceRoutes } from "./workspace-routes";
import { listening } from "../../runtime/listen-fault";

export interface DashboardOptions {
  readonly listen: HostPort;
  readonly core: CoreConnection;
  readonly credentials: CoreCredentials;
  readonly trustProxy: readonly string[];
  /** Base URL at which bridges reach the service, for the OpenAPI document and the dashboard's snippets. */
  readonly publicUrl: string;
  /** The demo's chat; undefined when no chat links to this dashboard. */
  readonly demo: DemoChat | undefined;
  /** Is called with unexpected errors, which are bugs. */
  report(where: string, error: unknown): void;
}

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>;

const BODY_MAX_BYTES = 16_384;
/** The maximum number of open connections: in total, and from one address. A browser opens up to 6 connections. */
const CONNECTIONS = { max: 1_000, share: 250 } as const;
/** The maximum rate of 429 answers to one address, and the maximum number of 429 answers that wait to be sent. */
const REFUSALS = { perSecond: 20, waitingMax: { inAll: 1_000, ofOne: 100 } } as const;

/**
 * Serves the dashboard: its pages, its JSON API under /api, and the OpenAPI document.
 *
 * @throws Error when the pages are not built, or the edge cannot listen on the address
 */
export async function startDashboard(options: DashboardOptions) {
  const nothingHere = createNotFound();
  const { listen, trustProxy, publicUrl, demo, report } = options;
  const addHeaders = secureHeaders({ isOpenedByChat: demo !== undefined });
  const core = createWorkspaceClient(options.core.address, options.credentials.tls);
  const sealed = createSealedClient(options.core, options.credentials);
  const sessions = createSessions(sealed);
  const stopping = new AbortController();
  const app = fastify({
    trustProxy: trustProxy.length === 0 ? false : [...trustProxy],
    requestTimeout: REQUEST_TIMEOUTS.requestTimeout,
    http: REQUEST_TIMEOUTS,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: true,
    forceCloseConnections: true,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    // Hooks do not run for a path that cannot be decoded, so the security headers are added here.
    frameworkErrors: (_error, request, reply) => void nothingHere(request, addHeaders(request, reply)),
  });
  limitConnections(app.server, { ...CONNECTIONS, trusted: trustProxy });
  app.server.maxHeadersCount = 0;
  app.addHook("onRequest", async (request, reply) => void addHeaders(request, reply));
  const pace = createRefusalPace(REFUSALS);
  app.addHook("onSend", (request, reply, payload, done) => {
    if (reply.statusCode !== TOO_MANY) return done(null, payload);
    const address = canonicalAddress(request.ip, request.socket.remoteAddress);
    pace.refuse(networkOf(address), () => done(null, payload));
  });
  compressAnswers(app);
  app.setNotFoundHandler(nothingHere);
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const answer = answerTo(error) ?? FAULT;
    if (answer === FAULT) report(request.routeOptions.url ?? "", error);
    if (answer === NOTHING_HERE) return nothingHere(request, reply);
    return sendError(reply, answer);
  });
  await app.register(async (pages) => addPages(pages, publicUrl));
  addOpenApiRoute(app, publicUrl);
  const context = { core, sessions, limit: createSignInLimit(), publicUrl, demo };
  await app.register(async (api) => addApi(api, context, stopping.signal, report), { prefix: "/api" });
  try {
    await listening("DASHBOARD_LISTEN", app.listen(listen));
  } catch (error) {
    core.close();
    sealed.close();
    throw error;
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    async close(): Promise<void> {
      stopping.abort();
      await app.close();
      sessions.close();
      core.close();
      sealed.close();
    },
  };
}

/** Adds the JSON API. */
async function addApi(
  api: FastifyInstance,
  context: SessionContext,
  stopping: AbortSignal,
  report: DashboardOptions["report"],
): Promise<void> {
  guardApi(api, findRelease());
  addSessionRoutes(api, context);
  /** The session of each request in progress. */
  const sessionOf = new WeakMap<FastifyRequest, Session>();
  const operatorOf: OperatorOf = (request) => context.core.as(sessionOf.get(request)?.token ?? "");
  const requireSession =
    (find: typeof currentSession) => async (request: FastifyRequest, reply: FastifyReply) => {
      const session = await find(request, context);
      if (session === undefined) return sendError(reply, SIGNED_OUT);
      sessionOf.set(request, session);
    };
  await api.register(async (signedIn) => {
    signedIn.addHook("onRequest", requireSession(usedSession));
    addWorkspaceRoutes(signedIn, operatorOf);
    addConnectionRoutes(signedIn, operatorOf);
    addStoredRoutes(signedIn, operatorOf);
    addSignatureRoute(signedIn, operatorOf);
  });
  // An open page calls these routes without action by a person. The calls do not count as use of the session, so an
  // idle session still expires.
  await api.register(async (signedIn) => {
    signedIn.addHook("onRequest", requireSession(currentSession));
    addHealthRoute(signedIn, operatorOf);
    addSummariesRoutes(signedIn, operatorOf);
    addFailedEventsRoute(signedIn, operatorOf);
    const watched = (request: FastifyRequest) => currentSession(request, context);
    addWatchRoute(signedIn, { sessionOf: watched, operatorOf, stopping, report });
  });
}

/** Returns the HTTP answer for an error; undefined when the error is unexpected, which is a bug. */
function answerTo(error: Error & { statusCode?: number }): ErrorAnswer | undefined {
  if (isServiceError(error)) return coreAnswer(error);
  if (error instanceof SessionsUnavailable) return error.answer;
  if (error instanceof CoreTooOld) return CORE_TOO_OLD;
  const { statusCode: status = 500 } = error;
  // @fastify/static throws errors with these statuses for paths outside its root.
  if (status === 403 || status === 404) return NOTHING_HERE;
  if (status === 413) return { status, message: "The request is too long." };
  return status < 500 ? { status, message: "The request is invalid." } : undefined;
}
