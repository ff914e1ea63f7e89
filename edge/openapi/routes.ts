import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./document";
import { OPENAPI_STYLE_PATH, renderOpenApiPage } from "./page";
import { OPENAPI_STYLE } from "./style";

/** Serves the contract at /openapi.json, and as a page at /docs. The contract is public, so no sign-in is needed. */
export function addOpenApiRoutes(app: FastifyInstance, publicUrl: string): void {
  const document = openApiDocument(publicUrl);
  const served: Readonly<Record<string, readonly [type: string, body: string]>> = {
    "/openapi.json": ["application/json; charset=utf-8", JSON.stringify(document)],
    "/docs": ["text/html; charset=utf-8", renderOpenApiPage(document)],
    [`/${OPENAPI_STYLE_PATH}`]: ["text/css; charset=utf-8", OPENAPI_STYLE],
  };
  for (const [path, [type, body]] of Object.entries(served)) {
    app.get(path, { exposeHeadRoute: true }, (_request, reply) =>
      reply.type(type).header("cache-control", "no-cache").send(body),
    );
  }
}
