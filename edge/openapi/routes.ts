import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./document";

/** Serves the contract at /openapi.json. The contract is public, so no sign-in is needed. */
export function addOpenApiRoute(app: FastifyInstance, publicUrl: string): void {
  const document = JSON.stringify(openApiDocument(publicUrl));
  app.get("/openapi.json", (_request, reply) =>
    reply.type("application/json; charset=utf-8").header("cache-control", "no-cache").send(document),
  );
}
