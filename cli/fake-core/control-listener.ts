import { isIP, type AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { formatHostPort, type HostPort } from "../../runtime/settings";
import { REQUEST_TIMEOUTS } from "../../runtime/request-timeouts";
import type { FakeChat } from "./fake-chat";
import { addFaultRoutes } from "./fault-routes";
import { addMemberRoutes } from "./member-routes";
import { Refused } from "./refused";

/** Maximum size of a request's body in bytes. */
const BODY_MAX_BYTES = 65_536;
const CONNECTIONS_MAX = 256;

/** Serves the control API over HTTP. Port 0 selects a free port. `hosts` are host names besides localhost. */
export async function listenForControl(
  chat: FakeChat,
  at: HostPort,
  hosts: readonly string[],
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    forceCloseConnections: true,
    // Fastify would change or drop invalid fields silently.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allowUnionTypes: true } },
    http: REQUEST_TIMEOUTS,
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  guard(app, hosts);
  readJson(app);
  answerErrors(app);
  addMemberRoutes(app, chat);
  addFaultRoutes(app, chat);
  await app.listen(at);
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}

/** Prevents web pages from using the API. */
function guard(app: FastifyInstance, hosts: readonly string[]): void {
  const known = ["localhost", ...hosts.map((host) => host.toLowerCase())];
  app.addHook("onRequest", async (request) => {
    const { origin, "sec-fetch-site": site = "none" } = request.headers;
    // An HTTP/1.0 request may have no Host header.
    const host = (request.hostname ?? "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
    // This check prevents DNS rebinding, by which a web page could send requests that do not have a foreign origin.
    if (isIP(host) === 0 && !known.includes(host)) {
      throw new Refused(
        403,
        `the host "${host}" is unknown: use an IP address or localhost, or start with --http-host ${host}`,
      );
    }
    if (
      (origin !== undefined && origin !== `http://${request.host}`) ||
      !["none", "same-origin"].includes(site)
    ) {
      throw new Refused(
        403,
        "pages of other sites must not use the control API: call it from a test or with curl",
      );
    }
  });
}

/** Parses every body as JSON, so that callers need not send a Content-Type. */
function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, body === "" ? undefined : (JSON.parse(String(body)) as unknown));
    } catch (error) {
      done(new Refused(400, `the body is not JSON: ${(error as Error).message}`));
    }
  });
}

function answerErrors(app: FastifyInstance): void {
  const calls: string[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    if (method !== "HEAD") calls.push(`${String(method)} ${url}`);
  });
  app.setNotFoundHandler(({ method, url }, reply) =>
    reply.code(404).send({ error: `there is no call ${method} ${url}: use one of ${calls.join(", ")}` }),
  );
  app.setErrorHandler(
    (error: Error & { readonly statusCode?: number }, _: FastifyRequest, reply: FastifyReply) => {
      const status = error instanceof Refused ? error.status : (error.statusCode ?? 500);
      return reply.code(status).send({ error: error.message });
    },
  );
}

/** Returns the address for URLs. */
export const urlOf = (at: HostPort, port: number): string => `http://${formatHostPort({ ...at, port })}`;
