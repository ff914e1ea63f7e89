import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ERRORS } from "../../contract/errors";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { EdgeRefusal } from "../../proto/gen/chatbridge/v1/bridge";
import type { Exchange, Hooks } from "./hooks";
import { canonicalAddress } from "./source-address";

/**
 * The edge replaces the Content-Type of every request with this type. Fastify caches the parser of a named type. With a
 * parser for "*", Fastify would parse the Content-Type header of every request.
 */
const ANY_TYPE = "application/octet-stream";

type HooksRequest = FastifyRequest<{ Params: { workspaceId: string } }>;

/**
 * Adds the two endpoints of the public contract. `answerUsualRequests` answers most requests to these endpoints before
 * they reach Fastify.
 */
export function addHooks(app: FastifyInstance, hooks: Hooks): void {
  readBodiesAsBytes(app);

  app.addHook("onError", (request, reply, error, done) => {
    if (error.statusCode === ERRORS.tooLarge.status) {
      const bytes = Number(request.headers["content-length"]);
      const sample = Number.isSafeInteger(bytes) ? { bytes } : {};
      hooks.reportRefusal(exchangeOf(request as HooksRequest, reply), EdgeRefusal.TOO_LARGE, () => sample);
    }
    done();
  });

  app.post("/hooks/:workspaceId", (request: HooksRequest, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    reply.hijack();
    void hooks.post(exchangeOf(request, reply), body);
  });

  app.get("/hooks/:workspaceId/events", (request: HooksRequest, reply) => {
    reply.hijack();
    void hooks.poll(exchangeOf(request, reply));
  });
}

/**
 * Makes the app read each body as bytes, whatever its Content-Type or Content-Encoding: a gzip body is not
 * decompressed.
 */
function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ANY_TYPE,
    { parseAs: "buffer", bodyLimit: BODY_MAX_BYTES },
    (_request, body, done) => done(null, body),
  );
  app.addHook("onRequest", (request, _reply, done) => {
    request.headers["content-type"] = ANY_TYPE;
    done();
  });
}

function exchangeOf(request: HooksRequest, reply: FastifyReply): Exchange {
  return {
    request: request.raw,
    response: reply.raw,
    workspaceId: request.params.workspaceId,
    sourceAddress: canonicalAddress(request.ip, request.socket.remoteAddress),
  };
}
