import { ERROR_BODY, errorsOfPoll, errorsOfPost } from "./openapi-answers";
import { inboundSchemas } from "./openapi-inbound";
import { OUTBOUND_TYPES, outboundSchemas, type OutboundType } from "./openapi-outbound";
import { refTo, type OpenApiDocument, type Operation, type Parameter, type Schema } from "./openapi-shape";
import { CURSOR_FORM, LIMIT_DEFAULT, LIMIT_MAX } from "./read-poll-query";

const CONTRACT_VERSION = "1.0.0-beta";
const LOCAL_EDGE = "http://127.0.0.1:8080";
const SIGNATURE = "Service-Signature";
const SIGNATURE_FORM = "^t=[0-9]+(,v1=[0-9a-fA-F]+)+$";

const WORKSPACE_ID: Parameter = {
  name: "workspaceId",
  in: "path",
  required: true,
  description: "Id of the workspace, as the dashboard shows it.",
  schema: { type: "string", format: "uuid" },
};

const CHECKS =
  "Checks are made in this order, and the first that fails is answered: the body is JSON of at most 64 KB (400, " +
  "413); the limit of the sending address (429); the workspace is there and connected (404); the signature is right " +
  "(401); its timestamp is within 5 minutes (409); the limit of the workspace (429); the fields keep their rules (400).";

/** The public contract as OpenAPI 3.1, out of the schemas that requests are checked by. */
export function openApiDocument(publicUrl: string = LOCAL_EDGE): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Chat bridge",
      version: CONTRACT_VERSION,
      description:
        "Runs games in chat tools through bridges. A bridge is a small HTTP program beside a chat tool: it reports " +
        "what members do, signed, and shows what the games answer, signed too. What an event causes is never in the " +
        "answer to it: it arrives later, by push (the webhooks below) or by poll. The contract is a beta: fields and " +
        "kinds may be added at any time, and whoever reads ignores what they do not know. Send a timeout, a `429` or " +
        "a `5xx` again with the same `id`, signed anew; no other `4xx`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: publicUrl, description: "Where bridges reach the service." }],
    security: [{ [SIGNATURE]: [] }],
    tags: [
      { name: "inbound", description: "From the bridge: what members do." },
      { name: "poll", description: "For bridges that fetch their events." },
      { name: "push", description: "To the bridge's target URL." },
    ],
    paths: {
      "/hooks/{workspaceId}": { post: postEvent() },
      "/hooks/{workspaceId}/events": { get: pollEvents() },
    },
    webhooks: Object.fromEntries(OUTBOUND_TYPES.map((each) => [each.type, { post: pushEvent(each) }])),
    components: {
      schemas: { ...inboundSchemas(), ...outboundSchemas(), ErrorBody: ERROR_BODY },
      securitySchemes: {
        [SIGNATURE]: {
          type: "apiKey",
          in: "header",
          name: SIGNATURE,
          description:
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<raw body>`, of a poll over `<t>.<query string>` " +
            "exactly as sent, keyed with the workspace's secret. During a rotation there is one `v1` entry per " +
            "secret, the new one first, and any one that is right is sufficient. Refuse a timestamp more than 5 " +
            "minutes from the local clock, and compare in constant time.",
        },
      },
    },
  };
}

function postEvent(): Operation {
  return {
    operationId: "postEvent",
    tags: ["inbound"],
    summary: "Report a command, a button press or a typed message",
    description: `The signature is checked over the bytes as they come, whatever their Content-Type. ${CHECKS}`,
    parameters: [WORKSPACE_ID],
    requestBody: { required: true, content: json(refTo("InboundEvent")) },
    responses: {
      "202": {
        description: "Stored, or a repeat of what was. It is answered before anything comes of it.",
        content: json({ type: "object", properties: { ok: { const: true } }, required: ["ok"] }),
      },
      ...errorsOfPost(),
    },
  };
}

function pollEvents(): Operation {
  return {
    operationId: "pollEvents",
    tags: ["poll"],
    summary: "Fetch held events",
    description:
      "Events are held for 24 hours. Poll again at once when there is more, else every few seconds (2 are " +
      "recommended), and verify the signature of the answer before acting on any event. The checks are those of a " +
      "POST, then the query's (400), then that the workspace has no target URL (403). Parameters that are not known " +
      "or repeated are refused.",
    parameters: [
      WORKSPACE_ID,
      {
        name: "after",
        in: "query",
        required: false,
        description:
          "Cursor of the page before. Left out: from the oldest held event. `latest`: no events, and the newest cursor.",
        schema: { anyOf: [{ type: "string", pattern: CURSOR_FORM.source }, { const: "latest" }] },
      },
      {
        name: "limit",
        in: "query",
        required: false,
        description: "How many events at most.",
        schema: { type: "integer", minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
      },
    ],
    responses: {
      "200": {
        description: "A page of events, signed.",
        headers: {
          [SIGNATURE]: {
            required: true,
            description: "Over the exact bytes of the answer, as of a push.",
            schema: signatureSchema(),
          },
          "Service-Workspace": {
            required: true,
            description: "The workspace.",
            schema: { type: "string", format: "uuid" },
          },
        },
        content: json(refTo("EventPage")),
      },
      ...errorsOfPoll(),
    },
  };
}

function pushEvent({ name, summary, description }: OutboundType): Operation {
  const header = (of: string, words: string, schema: Schema): Parameter => ({
    name: of,
    in: "header",
    required: true,
    description: words,
    schema,
  });
  return {
    operationId: `push${name}`,
    tags: ["push"],
    summary,
    description,
    parameters: [
      header("Service-Event-Id", "The event's `id`: drop what repeats one.", { type: "string" }),
      header("Service-Workspace", "The event's `workspace`, to route by.", {
        type: "string",
        format: "uuid",
      }),
    ],
    requestBody: { required: true, content: json(refTo(name)) },
    responses: {
      "2XX": {
        description: "Taken. Answer within 5 seconds, before slow work; any other answer is a failure.",
      },
      "4XX": { description: "A failure, as is any other answer than 2xx, a redirect, or none in time." },
    },
  };
}

function signatureSchema(): Schema {
  return { type: "string", pattern: SIGNATURE_FORM };
}

function json(schema: Schema) {
  return { "application/json": { schema } };
}
