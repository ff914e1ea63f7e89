import { CURSOR_FORM } from "../../contract/forms";
import {
  ADDRESS_REQUESTS_PER_SECOND,
  BODY_MAX_BYTES,
  HELD_SECONDS,
  PAGE_MAX_EVENTS,
  POLL_INTERVAL_MS,
  PUSH_DEADLINE_MS,
  TIMESTAMP_TOLERANCE_SECONDS,
  WORKSPACE_REQUESTS_PER_SECOND,
} from "../../contract/numbers";
import { ERROR_BODY, errorsOfPoll, errorsOfPost } from "./answers";
import {
  EXAMPLE_WORKSPACE,
  INBOUND_EXAMPLES,
  OUTBOUND_EXAMPLES,
  PAGE_EXAMPLES,
  PAGE_SIGNATURE,
} from "./example-events";
import { inboundSchemas } from "./inbound";
import { outboundSchemas } from "./outbound";
import { OUTBOUND_EVENTS, type OutboundEvent } from "./outbound-events";
import {
  refTo,
  type Examples,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Schema,
} from "./shape";

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
  example: EXAMPLE_WORKSPACE,
};

const CHECKS =
  `The checks run in this order, and the first check that fails determines the answer: the body is JSON of at most ${BODY_MAX_BYTES / 1_024} KB (400, ` +
  `413); the rate limit of the sending address (${ADDRESS_REQUESTS_PER_SECOND} per second: 429); the workspace exists, is connected and needs a bridge (404); the signature is valid ` +
  `(401); its timestamp is within ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes (409); the rate limit of the workspace (${WORKSPACE_REQUESTS_PER_SECOND} per second: 429); the fields follow their rules (400).`;

/** Returns the public contract as OpenAPI 3.1, generated from the schemas with which the edge checks requests. */
export function openApiDocument(publicUrl: string = LOCAL_EDGE): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Chat bridge",
      version: CONTRACT_VERSION,
      description:
        "Runs games in chat tools through bridges. A bridge is a small HTTP program beside a chat tool: it reports " +
        "what members do, and shows what the games publish. Requests in both directions are signed. The answer to an " +
        "event never contains its effects: they arrive later, by push (the webhooks below) or by poll. The contract is a " +
        "beta: fields and kinds may be added at any time. Ignore unknown fields, show a message of an unknown kind as a `card`, " +
        "and skip an event of an unknown type (answer its push with `2xx`). After a timeout, a `429` or a `5xx`, send the " +
        "request again with the same `id` and a new signature. Do not send the request again after any other `4xx`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: publicUrl, description: "The address at which bridges reach the service." }],
    security: [{ [SIGNATURE]: [] }],
    tags: [
      { name: "inbound", description: "Events from the bridge: what members do." },
      { name: "poll", description: "Events that the bridge fetches." },
      { name: "push", description: "Events that the service sends to the bridge's target URL." },
    ],
    paths: {
      "/hooks/{workspaceId}": { post: postEvent() },
      "/hooks/{workspaceId}/events": { get: pollEvents() },
    },
    webhooks: Object.fromEntries(OUTBOUND_EVENTS.map((each) => [each.type, { post: pushEvent(each) }])),
    components: {
      schemas: { ...inboundSchemas(), ...outboundSchemas(), ErrorBody: ERROR_BODY },
      securitySchemes: {
        [SIGNATURE]: {
          type: "apiKey",
          in: "header",
          name: SIGNATURE,
          description:
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<raw body>`, keyed with the workspace's secret. For a " +
            "poll, the HMAC is of `<t>.<query string>`, exactly as sent. During a rotation, there is one `v1` entry per " +
            `secret, the newest first, and one valid entry is sufficient. Reject a timestamp more than ${TIMESTAMP_TOLERANCE_SECONDS / 60} minutes ` +
            "from the local clock, and compare digests in constant time.",
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
    description: `The signature covers the exact bytes of the body, whatever the Content-Type. ${CHECKS}`,
    parameters: [WORKSPACE_ID],
    requestBody: { required: true, content: json(refTo("InboundEvent"), named(INBOUND_EXAMPLES)) },
    responses: {
      "202": {
        description:
          "The event is stored, or repeats a stored event. The answer does not wait for any effect of the event.",
        content: json(
          { type: "object", properties: { ok: { const: true } }, required: ["ok"] },
          { accepted: { value: { ok: true } } },
        ),
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
      `Events are held for ${HELD_SECONDS / 3_600} hours. Poll again immediately when \`hasMore\` is true, otherwise every ` +
      `few seconds (${POLL_INTERVAL_MS / 1_000} are recommended). Verify the signature of the answer before you act ` +
      "on any event. The checks are those of a POST, but there is no body: the query is checked in place of the fields " +
      "(400). The last check is that the workspace has no target URL (403). Unknown and repeated parameters are rejected.",
    parameters: [
      WORKSPACE_ID,
      {
        name: "after",
        in: "query",
        required: false,
        description:
          "The cursor `next` of the previous page. Without `after`, the page begins with the oldest held event. " +
          "`latest` returns the newest cursor and no events.",
        schema: { anyOf: [{ type: "string", pattern: CURSOR_FORM.source }, { const: "latest" }] },
        example: PAGE_EXAMPLES.events.next,
      },
      {
        name: "limit",
        in: "query",
        required: false,
        description: "The maximum number of events.",
        schema: { type: "integer", minimum: 1, maximum: PAGE_MAX_EVENTS, default: PAGE_MAX_EVENTS },
        example: 10,
      },
    ],
    responses: {
      "200": {
        description: "A signed page of events.",
        headers: {
          [SIGNATURE]: {
            required: true,
            description: "The signature of the exact bytes of the answer's body, as for a push.",
            schema: signatureSchema(),
            example: PAGE_SIGNATURE,
          },
          "Service-Workspace": {
            required: true,
            description: "The id of the workspace.",
            schema: { type: "string", format: "uuid" },
            example: EXAMPLE_WORKSPACE,
          },
        },
        content: json(refTo("EventPage"), named(PAGE_EXAMPLES)),
      },
      ...errorsOfPoll(),
    },
  };
}

function pushEvent({ type, name, summary, sent, handling, retries, expiry }: OutboundEvent): Operation {
  const event = OUTBOUND_EXAMPLES[type];
  const header = (of: string, words: string, schema: Schema, example: string): Parameter => ({
    name: of,
    in: "header",
    required: true,
    description: words,
    schema,
    example,
  });
  return {
    operationId: `push${name}`,
    tags: ["push"],
    summary,
    description: [sent, handling, retries, expiry].join(" "),
    parameters: [
      header(
        "Service-Event-Id",
        "The event's `id`: use this id to drop repeats.",
        { type: "string" },
        event.id,
      ),
      header(
        "Service-Workspace",
        "The event's `workspace`, for routing.",
        { type: "string", format: "uuid" },
        event.workspace,
      ),
    ],
    requestBody: { required: true, content: json(refTo(name), { [type]: { value: event } }) },
    responses: {
      "2XX": {
        description: `The event is accepted. Answer within ${PUSH_DEADLINE_MS / 1_000} seconds, before slow work.`,
      },
      "4XX": {
        description:
          "The push failed. Any answer other than 2xx is a failure, including a redirect. A timeout is also a failure.",
      },
    },
  };
}

function signatureSchema(): Schema {
  return { type: "string", pattern: SIGNATURE_FORM };
}

function json(schema: Schema, examples: Examples) {
  return { "application/json": { schema, examples } };
}

function named(values: Readonly<Record<string, unknown>>): Examples {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
