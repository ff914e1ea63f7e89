import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import {
  CARD,
  create,
  dm,
  ephemeral,
  MESSAGE_ID,
  update,
  type ContentInit,
  type EventInit,
  type MessageInit,
} from "../harness/contents";
import { publish } from "../harness/service";
import { sharedService } from "../harness/shared-service";

// Of each rule: test/unit/outbound-rules.test.ts.
const service = sharedService();

const action = (value: string) => ({ label: "a", press: { $case: "action" as const, value } });
const url = (value: string) => ({ label: "a", press: { $case: "url" as const, value } });
const rows = (...buttons: NonNullable<NonNullable<MessageInit["rows"]>[number]["buttons"]>) =>
  create("c1", { ...CARD, rows: [{ buttons: [action("ok")] }, { buttons: [action("ok"), ...buttons] }] });

// contract: outbound-channel, message-buttons, message-image
test.each<[string, ContentInit | undefined, EventInit?]>([
  ["content", undefined],
  ["message_create.message", { $case: "messageCreate", value: { channel: "c1" } }],
  ["message_update.message", { $case: "messageUpdate", value: { channel: "c1" } }],
  ["message_ephemeral.message", { $case: "messageEphemeral", value: { channel: "c1", user: "u1" } }],
  ["dm_create.message", { $case: "dmCreate", value: { user: "u1" } }],
  ["message_create.channel", create("")],
  ["message_create.channel", create("dm:u1")],
  ["message_ephemeral.channel", ephemeral("dm:u1", "u1")],
  ["message_update.channel", update(`dm:${"u".repeat(129)}`)],
  ["message_ephemeral.user", ephemeral("c1", "")],
  ["dm_create.user", dm("")],
  ["message_create.message.id", create("c1", { ...CARD, id: MESSAGE_ID })],
  ["message_ephemeral.message.id", ephemeral("c1", "u1", { ...CARD, id: MESSAGE_ID })],
  ["dm_create.message.id", dm("u1", { ...CARD, id: MESSAGE_ID })],
  ["message_update.message.id", update("c1", CARD)],
  ["message_update.message.id", update("c1", { ...CARD, id: MESSAGE_ID.toLowerCase() })],
  ["message_create.message.kind", create("c1", { text: "no kind" })],
  ["message_create.message.kind", create("c1", { kind: 33 as MessageKind, text: "unknown kind" })],
  [
    "message_create.message.rows",
    create("c1", { kind: MessageKind.TEXT, rows: [{ buttons: [action("a")] }] }),
  ],
  ["message_create.message.data", create("c1", { kind: MessageKind.TEXT, data: {} })],
  ["message_create.message.rows[0]", create("c1", { ...CARD, rows: [{}] })],
  ["message_create.message.rows[1].buttons[1].label", rows({ ...action("a"), label: "" })],
  ["message_create.message.rows[1].buttons[1].press", rows({ label: "a" })],
  ["message_create.message.rows[1].buttons[1].action", rows(action(""))],
  ["message_create.message.rows[1].buttons[1].action", rows(action("a".repeat(513)))],
  ["message_create.message.rows[1].buttons[1].url", rows(url("/relative"))],
  ["dm_create.message.rows[0].buttons[0].action", dm("u1", { ...CARD, rows: [{ buttons: [action("")] }] })],
  ["message_create.message.image", create("c1", { ...CARD, image: "" })],
  ["message_create.message", create("c1", { ...CARD, text: "x".repeat(64 * 1024) })],
  ["idempotency_key", create("c1"), { idempotencyKey: "k".repeat(129) }],
  ["lifetime", create("c1"), { lifetime: { seconds: 0, nanos: 999_999_999 } }],
  ["lifetime", create("c1"), { lifetime: { seconds: 86_400, nanos: 1 } }],
])(
  "an event that breaks a rule is refused, and its field named in full: %s",
  async (field, content, rest = {}) => {
    const { id: workspaceId } = await service.workspaces.make();
    const event = { workspaceId, ...(content === undefined ? {} : { content }), ...rest };
    const [result] = await publish(service.clients, event);
    const message = expect.any(String) as string;
    expect(result?.outcome).toEqual({
      $case: "refused",
      value: { reason: PublishRefusal.INVALID, field, message },
    });
  },
);
