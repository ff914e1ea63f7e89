import { CURSOR_FORM, EVENT_ID_FORM, MESSAGE_ID_FORM } from "../../contract/forms";
import { MESSAGE_KINDS } from "../../contract/messages";
import { ACTION_MAX_CHARACTERS, PAGE_MAX_EVENTS } from "../../contract/numbers";
import { OUTBOUND_EVENTS } from "./outbound-events";
import { refTo, text, type Schema } from "./shape";

const SEQUENCE_MAX = Number.MAX_SAFE_INTEGER;

const instant = (description: string): Schema => ({ type: "string", format: "date-time", description });

/** Returns the schema of an object. The schema allows unknown fields, because the contract may add fields. */
function object(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", description, properties, required: Object.keys(properties) };
}

/** Returns the schemas of the events, messages and pages that a bridge receives. */
export function outboundSchemas(): Readonly<Record<string, Schema>> {
  return { ...eventSchemas(), ...messageSchemas(), EventPage: pageSchema() };
}

function eventSchemas(): Readonly<Record<string, Schema>> {
  return {
    OutboundEvent: {
      description: "An event for the bridge. Ignore unknown fields, and skip an event of an unknown type.",
      oneOf: OUTBOUND_EVENTS.map(({ name }) => refTo(name)),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(OUTBOUND_EVENTS.map(({ type, name }) => [type, refTo(name).$ref ?? ""])),
      },
    },
    ...Object.fromEntries(
      OUTBOUND_EVENTS.map(({ type, name, summary, fields }) => [
        name,
        object(`${summary}.`, { ...head(type), ...fields }),
      ]),
    ),
  };
}

function messageSchemas(): Readonly<Record<string, Schema>> {
  return {
    Message: object("A message to show. Its `id` identifies the message in repeats and updates.", {
      id: text("Assigned by the service.", { pattern: MESSAGE_ID_FORM.source }),
      kind: text(
        "The kind of the message. Kinds may be added: show a message of an unknown kind as a `card`.",
        {
          "x-extensible-enum": MESSAGE_KINDS,
        },
      ),
      text: text("Chat-flavoured Markdown; a bare newline is a line break."),
      buttons: {
        type: "array",
        description:
          "Rows from top to bottom, buttons from left to right; empty when there are none. No maximum number, except the 64 KB of the event.",
        items: { type: "array", items: refTo("Button") },
      },
      image: {
        type: ["string", "null"],
        format: "uri",
        description: "A still or animated image to show with the message.",
      },
      awaitsReply: {
        type: "boolean",
        description:
          "Whether the member's next typed message is the answer to this message. Send the answer as a `message` event.",
      },
      data: {
        type: ["object", "null"],
        description: "The view model of the message. Its fields are not stable.",
      },
    }),
    Button: { description: "A button of a message.", oneOf: [refTo("ActionButton"), refTo("LinkButton")] },
    ActionButton: object("A button. When it is pressed, send an `action` event with the same `action`.", {
      label: text("The text of the button."),
      action: text("Opaque: never parse it.", { maxLength: ACTION_MAX_CHARACTERS }),
    }),
    LinkButton: object("A button. When it is pressed, open its URL and send no event.", {
      label: text("The text of the button."),
      url: text("The URL to open.", { format: "uri" }),
    }),
  };
}

function pageSchema(): Schema {
  return object("A page of held events.", {
    events: {
      type: "array",
      maxItems: PAGE_MAX_EVENTS,
      description: "Oldest first. Each event is exactly what a push would carry.",
      items: refTo("OutboundEvent"),
    },
    next: {
      type: ["string", "null"],
      pattern: CURSOR_FORM.source,
      description:
        "The cursor to send unchanged as `after` in the next poll. Null only when no `after` was sent and no event is held.",
    },
    hasMore: {
      type: "boolean",
      description:
        "Whether more events are held after the last event of this page: if so, poll again immediately.",
    },
    gap: {
      type: "boolean",
      description:
        "Whether events after the cursor in `after` were removed, after 24 hours, before they were fetched. If so, continue " +
        "from `next`. While nothing newer is held, each further page has `gap: true` again. Always false without `after`, " +
        "and with `after=latest`.",
    },
  });
}

function head(type: string): Readonly<Record<string, Schema>> {
  return {
    id: text("The same on every retry: use this id to drop repeats.", { pattern: EVENT_ID_FORM.source }),
    type: { const: type, description: "The type of the event, which selects its schema." },
    workspace: text("The id of the workspace.", { format: "uuid" }),
    sequence: {
      type: "integer",
      format: "int64",
      minimum: 1,
      maximum: SEQUENCE_MAX,
      description: "Later events of the workspace have higher sequences. The numbers have gaps.",
    },
    createdAt: instant(
      "When the event was created: an RFC 3339 (ISO 8601) timestamp in UTC with milliseconds, e.g. `2026-01-05T09:30:00.120Z`.",
    ),
    expiresAt: {
      type: ["string", "null"],
      format: "date-time",
      description:
        "When the event expires, a timestamp like `createdAt`. Drop an expired event. Null means that the event never expires.",
    },
  };
}
