import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import fastify, { type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { ChatConfig } from "../config";
import type { Member } from "../shapes";
import { addChatRoutes, addJoinRoute } from "./chat-routes";
import type { PageContext } from "./page-context";
import { guardPage } from "./page-guard";
import { addStreamRoute } from "./stream-route";

export interface PageServer {
  readonly port: number;
  close(): Promise<void>;
}

const REQUEST_WITHIN_MS = 10_000;
const BODY_MAX_BYTES = 32 * 1024;
/** Built by `npm run build`, beside the compiled server. */
const PAGE = join(__dirname, "../page");

/** Serves the page, and its API under /api. Throws when the page is not built. */
export async function startPageServer(
  config: ChatConfig,
  context: PageContext,
  log: Logger,
): Promise<PageServer> {
  if (!existsSync(join(PAGE, "index.html"))) throw new Error("the page is not built: run npm run build");
  const app = fastify({
    requestTimeout: REQUEST_WITHIN_MS,
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  guardPage(app, config);
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ message: "Not found." }));
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const { statusCode: status = 500 } = error;
    if (status >= 500) log.error({ err: error, where: request.routeOptions.url }, "a request failed");
    const message = status < 500 ? "The request is invalid." : "The chat's server failed; see its log.";
    return reply.code(status).send({ message });
  });
  await app.register(fastifyStatic, { root: PAGE, wildcard: false, cacheControl: false });
  await app.register(
    async (api) => {
      addJoinRoute(api, context);
      await api.register(async (joined) => {
        const keyOf = ({ headers }: FastifyRequest): string =>
          /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
        joined.addHook("onRequest", async (request, reply) => {
          const isKnown = context.room.memberOf(keyOf(request)) !== undefined;
          if (!isKnown)
            return reply.code(401).send({ message: "You are not a member of this chat; join again." });
        });
        const memberOf = (request: FastifyRequest): Member => {
          const member = context.room.memberOf(keyOf(request));
          // A full chat may have removed the member since the hook, while the body arrived.
          if (member === undefined) throw Object.assign(new Error("unknown member"), { statusCode: 401 });
          return member;
        };
        addChatRoutes(joined, context, memberOf);
        addStreamRoute(joined, context, memberOf);
      });
    },
    { prefix: "/api" },
  );
  await app.listen(config.listen);
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}
