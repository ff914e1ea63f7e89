import { MessageKind } from "../proto/gen/chatbridge/v1/event";
import { refTo, type Schema } from "./openapi-shape";
import { CURSOR_FORM, LIMIT_MAX } from "./read-poll-query";

const ULID = "[0-9A-HJKMNP-TV-Z]{26}";
const SEQUENCE_MAX = Number.MAX_SAFE_INTEGER;
const ACTION_MAX = 512;

/** The kinds by the contract's names: those of the proto in lower case. */
const KINDS = Object.keys(MessageKind)
  .filter((name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED")
  .map((name) => name.toLowerCase());

const instant = (description: string): Schema => ({ type: "string", format: "date-time", description });
const text = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });

/** Fields may be added: whoever reads them ignores what they do not know. */
function object(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", description, properties, required: Object.keys(properties) };
}

const channel = text(
  "A channel id that the bridge sent earlier; on an update of what was a `dm.create`, `dm:` and the user's id.",
  { minLength: 1 },
);
const user = text("A member's `user.id` as the bridge sent it.", { minLength: 1 });
const message = refTo("Message");

export interface OutboundType {
  readonly type: string;
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, Schema>>;
}

const RETRIED = "A failed push is tried again 1 s and 4 s later, with the same `id`, then dropped.";

/** The contract's outbound events, and what a bridge does with each. */
export const OUTBOUND_TYPES: readonly OutboundType[] = [
  {
    type: "message.create",
    name: "MessageCreate",
    summary: "Post a message in a channel",
    description: `Post \`message\` in \`channel\`, and keep a map from \`message.id\` to the chat's own message id. ${RETRIED}`,
    fields: { channel, message },
  },
  {
    type: "message.update",
    name: "MessageUpdate",
    summary: "Replace a message",
    description:
      "Replace text, buttons and image of the message that `message.id` is mapped to; skip one that is older than " +
      "the last applied, by `sequence`. One without a mapping may have overtaken its create: hold it for up to 5 " +
      "seconds. A failed push is tried again 1 s and 4 s later where it starts a phase (`question`, `gotcha_bait`, " +
      "`gotcha_reveal`, `time_up`, `game_end`), else never: the next update supersedes it.",
    fields: { channel, message },
  },
  {
    type: "message.ephemeral",
    name: "MessageEphemeral",
    summary: "Show a message to one member alone",
    description: `Show \`message\` to \`user\` alone in \`channel\` where the chat can, otherwise DM or post it. It is never updated. ${RETRIED}`,
    fields: { channel, user, message },
  },
  {
    type: "dm.create",
    name: "DmCreate",
    summary: "Send a message to a member directly",
    description: `Open or reuse a direct conversation with \`user\`, post \`message\`, and map \`message.id\` as for a create. ${RETRIED}`,
    fields: { user, message },
  },
  {
    type: "ping",
    name: "Ping",
    summary: "Answer that the bridge is there",
    description: "Answer `2xx`: the dashboard shows the status code and latency. Never tried again.",
    fields: {},
  },
];

/** The components of everything that a bridge gets. */
export function outboundSchemas(): Readonly<Record<string, Schema>> {
  return {
    OutboundEvent: {
      description: "What the chat is to show. Ignore fields that are not known.",
      oneOf: OUTBOUND_TYPES.map(({ name }) => refTo(name)),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(OUTBOUND_TYPES.map(({ type, name }) => [type, refTo(name).$ref ?? ""])),
      },
    },
    ...Object.fromEntries(
      OUTBOUND_TYPES.map(({ type, name, summary, fields }) => [
        name,
        object(`${summary}.`, { ...head(type), ...fields }),
      ]),
    ),
    Message: object("What to show. Drop, retry and update it by its `id`.", {
      id: text("Minted by the service.", { pattern: `^msg_${ULID}$` }),
      kind: text("What it is. Others may come: print one that is not known like `card`.", {
        "x-extensible-enum": KINDS,
      }),
      text: text("Chat-flavoured Markdown; a bare newline is a line break."),
      buttons: {
        type: "array",
        description: "Rows from top to bottom, buttons from left to right; empty when there are none.",
        items: { type: "array", items: refTo("Button") },
      },
      image: {
        type: ["string", "null"],
        format: "uri",
        description: "Image or animated image to show with it.",
      },
      awaitsReply: {
        type: "boolean",
        description: "Whether the member's next typed message is the answer: send it as a `message` event.",
      },
      data: {
        type: ["object", "null"],
        description: "View model behind the message; its shape is not stable.",
      },
    }),
    Button: { description: "Something to press.", oneOf: [refTo("ActionButton"), refTo("LinkButton")] },
    ActionButton: object("On a press send an `action` event with the same `action`.", {
      label: text("What it says."),
      action: text("Opaque: never parse it.", { maxLength: ACTION_MAX }),
    }),
    LinkButton: object("Opens its URL and sends nothing.", {
      label: text("What it says."),
      url: text("Where it leads.", { format: "uri" }),
    }),
    EventPage: object("A page of held events.", {
      events: {
        type: "array",
        maxItems: LIMIT_MAX,
        description: "Oldest first; each is exactly what a push would carry.",
        items: refTo("OutboundEvent"),
      },
      next: {
        type: ["string", "null"],
        pattern: CURSOR_FORM.source,
        description:
          "Cursor to pass as `after` next, exactly as it is. Null only when no `after` was sent and nothing is held.",
      },
      hasMore: { type: "boolean", description: "More events wait: poll again at once." },
      gap: {
        type: "boolean",
        description: "Events after the sent `after` expired before they were fetched; carry on from `next`.",
      },
    }),
  };
}

function head(type: string): Readonly<Record<string, Schema>> {
  return {
    id: text("The same on every retry: dedupe on it.", { pattern: `^evt_${ULID}$` }),
    type: { const: type, description: "Selects the shape." },
    workspace: text("The workspace.", { format: "uuid" }),
    sequence: {
      type: "integer",
      format: "int64",
      minimum: 1,
      maximum: SEQUENCE_MAX,
      description: "Strictly rising within the workspace, with gaps.",
    },
    createdAt: instant("When it was made, in UTC."),
    expiresAt: {
      type: ["string", "null"],
      format: "date-time",
      description: "When it goes stale, in UTC: drop it then. Null means never.",
    },
  };
}
