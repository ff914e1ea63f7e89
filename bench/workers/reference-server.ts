import { createSecretKey, createHmac, timingSafeEqual, type KeyObject } from "node:crypto";
import type { AddressInfo } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { DM_CHANNEL_MAX_CHARACTERS } from "../../contract/forms";
import {
  ACTION_MAX_CHARACTERS,
  COMMAND_TEXT_MAX_CHARACTERS,
  ID_MAX_CHARACTERS,
  MESSAGE_TEXT_MAX_CHARACTERS,
  TIMESTAMP_TOLERANCE_SECONDS,
} from "../../contract/numbers";
import type { Workspace } from "../core-clients";
import { signatureOf } from "../load/signed-requests";
import { serveWorker } from "../worker";

/**
 * The reference for HTTP: one process that does only what any receiver of signed
 * requests must do. The process does not store events or request ids, has no rate limits, and does not call other
 * processes.
 */
export type ReferenceServer = typeof calls;

const text = (minLength: number, maxLength: number) => ({ type: "string", minLength, maxLength });
const optionalText = (maxLength: number) => ({ type: ["string", "null"], maxLength });
const closed = (required: readonly string[], properties: object) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const id = text(1, ID_MAX_CHARACTERS);
const channel = {
  if: { type: "object" },
  then: closed(["id"], { id: text(1, DM_CHANNEL_MAX_CHARACTERS), name: optionalText(ID_MAX_CHARACTERS) }),
  else: text(1, DM_CHANNEL_MAX_CHARACTERS),
};
const user = closed(["id"], { id, name: optionalText(ID_MAX_CHARACTERS) });
const inboundEvent = (type: string, required: readonly string[], properties: object) =>
  closed(["type", "channel", "user", ...required], {
    type: { const: type },
    id,
    channel,
    user,
    ...properties,
  });

const ajv = new Ajv2020({ strict: true, strictTypes: false });
const VALIDATE = new Map(
  Object.entries({
    command: inboundEvent("command", ["text"], { text: text(0, COMMAND_TEXT_MAX_CHARACTERS) }),
    action: inboundEvent("action", ["messageId", "action"], {
      messageId: id,
      action: text(1, ACTION_MAX_CHARACTERS),
    }),
    message: inboundEvent("message", ["text"], {
      text: text(1, MESSAGE_TEXT_MAX_CHARACTERS),
      replyTo: optionalText(ID_MAX_CHARACTERS),
    }),
  }).map(([type, schema]) => [type, ajv.compile(schema)]),
);

const secrets = new Map<string, KeyObject>();
let page = Buffer.from('{"events":[],"next":null,"hasMore":false,"gap":false}');

const HEADER = /^t=(\d+),v1=([0-9a-f]{64})$/;

function isSigned(request: FastifyRequest, key: KeyObject | undefined, raw: string | Buffer): boolean {
  const [, t = "", hex = ""] = HEADER.exec(String(request.headers["service-signature"])) ?? [];
  if (key === undefined || t === "") return false;
  const digest = createHmac("sha256", key).update(`${t}.`).update(raw).digest();
  return (
    timingSafeEqual(digest, Buffer.from(hex, "hex")) &&
    Math.abs(Date.now() / 1000 - Number(t)) <= TIMESTAMP_TOLERANCE_SECONDS
  );
}

const calls = {
  /** Starts a server for these workspaces, and returns its port. */
  async start({ workspaces }: { readonly workspaces: readonly Workspace[] }): Promise<number> {
    for (const workspace of workspaces) {
      secrets.set(workspace.id, createSecretKey(Buffer.from(workspace.secret)));
    }
    const app = fastify({ exposeHeadRoutes: false, requestIdHeader: false });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
      done(null, body),
    );
    const send = (reply: FastifyReply, status: number, body: string | Buffer): void => {
      void reply.code(status).header("content-type", "application/json").send(body);
    };
    type Request = FastifyRequest<{ Params: { workspaceId: string } }>;

    // The handlers do not return a promise, because Fastify would wait for it.
    app.post("/hooks/:workspaceId", (request: Request, reply) => {
      const body = request.body as Buffer;
      const event = JSON.parse(body.toString("utf8")) as { type?: string };
      if (!isSigned(request, secrets.get(request.params.workspaceId), body)) return send(reply, 401, "{}");
      if (VALIDATE.get(event.type ?? "")?.(event) !== true) return send(reply, 400, "{}");
      return send(reply, 202, '{"ok":true}');
    });
    app.get("/hooks/:workspaceId/events", (request: Request, reply) => {
      const { url = "" } = request.raw;
      const key = secrets.get(request.params.workspaceId);
      if (key === undefined || !isSigned(request, key, url.slice(url.indexOf("?") + 1)))
        return send(reply, 401, "{}");
      void reply
        .header("Service-Signature", signatureOf(key, page))
        .header("Service-Workspace", request.params.workspaceId);
      return send(reply, 200, page);
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    return (app.server.address() as AddressInfo).port;
  },

  /** Sets the page that answers every poll. */
  async setPage(body: Uint8Array): Promise<void> {
    page = Buffer.from(body);
  },
};

serveWorker(calls);
