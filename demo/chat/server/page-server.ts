import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import fastify from "fastify";
import type { Logger } from "pino";
import { listening } from "../../../runtime/listen-fault";
import { REQUEST_TIMEOUTS } from "../../../runtime/request-timeouts";
import type { ChatConfig } from "../config";
import { addAnswerRoutes, addDashboardRoute, addJoinRoute, addLinkRoutes, addSayRoute } from "./chat-routes";
import type { PageContext } from "./page-context";
import { guardPage } from "./page-guard";
import { addStreamRoute } from "./stream-route";

const BODY_MAX_BYTES = 32 * 1024;
/**
 * Maximum number of open connections. Further connections are closed. A browser opens up to seven connections for a
 * page.
 */
const CONNECTIONS_MAX = 2_000;
/** Folder of the page, which `npm run build` puts beside the compiled server. */
const PAGE = join(__dirname, "../page");

/** Serves the page, and its API under /api. Throws when the page is not built. */
export async function startPageServer(config: ChatConfig, context: PageContext, log: Logger) {
  if (!existsSync(join(PAGE, "index.html"))) throw new Error("the page is not built: run npm run build");
  const app = fastify({
    requestTimeout: REQUEST_TIMEOUTS.requestTimeout,
    http: REQUEST_TIMEOUTS,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  guardPage(app, config);
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const { statusCode: status = 500 } = error;
    if (status >= 500) log.error({ err: error, where: request.routeOptions.url }, "a request failed");
    const message = status < 500 ? "The request is invalid." : "The chat's server failed; see its log.";
    return reply.code(status).send({ message });
  });
  await app.register(fastifyStatic, {
    root: PAGE,
    wildcard: false,
    cacheControl: false,
    preCompressed: true,
  });
  await app.register(
    async (api) => {
      addJoinRoute(api, context);
      await api.register(async (joined) => {
        joined.addHook("onRequest", async (request, reply) => {
          const [, bearer] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
          // The browser's EventSource cannot send headers, so the stream's URL contains the key.
          const { key = bearer ?? "" } = request.query as { key?: string };
          const member = context.room.memberOf(key);
          if (member !== undefined) request.member = member;
          else return reply.code(401).send({ message: "You are not a member of this chat; join again." });
        });
        addSayRoute(joined, context);
        addAnswerRoutes(joined, context);
        addLinkRoutes(joined, context);
        addDashboardRoute(joined, context);
        addStreamRoute(joined, context);
      });
    },
    { prefix: "/api" },
  );
  await listening("CHAT_LISTEN", app.listen(config.listen));
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
