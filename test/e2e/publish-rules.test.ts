import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import {
  CARD,
  create,
  dm,
  ephemeral,
  heldFor,
  MESSAGE_ID,
  published,
  update,
  type ContentInit,
  type EventInit,
  type MessageInit,
} from "../harness/contents";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";

// Each rule for outbound events is tested in test/unit/outbound-rules.test.ts.
const service = sharedService();

const action = (value: string) => ({ label: "a", press: { $case: "action" as const, value } });
const url = (value: string) => ({ label: "a", press: { $case: "url" as const, value } });
const rows = (...buttons: NonNullable<NonNullable<MessageInit["rows"]>[number]["buttons"]>) =>
  create("c1", { ...CARD, rows: [{ buttons: [action("ok")] }, { buttons: [action("ok"), ...buttons] }] });

async function expectRefused(event: EventInit, reason: PublishRefusal, field: string) {
  const [result] = await publish(service.clients, event);
  const value = { reason, field, message: expect.any(String) as string };
  expect(result?.outcome).toEqual({ $case: "refused", value });
}

// contract: outbound-channel, message-buttons, message-image
test.each<[string, ContentInit | undefined, EventInit?]>([
  ["content", undefined],
  ["message_create.message", { $case: "messageCreate", value: { channel: "c1" } }],
  ["message_create.channel", create("dm:u1")],
  ["message_ephemeral.user", ephemeral("c1", "")],
  ["dm_create.user", dm("")],
  ["message_create.message.id", create("c1", { ...CARD, id: MESSAGE_ID })],
  ["message_ephemeral.message.id", ephemeral("c1", "u1", { ...CARD, id: MESSAGE_ID })],
  ["message_update.message.id", update("c1", { ...CARD, id: MESSAGE_ID.toLowerCase() })],
  ["message_create.message.kind", create("c1", { kind: 33 as MessageKind, text: "unknown kind" })],
  ["message_create.message.data", create("c1", { ...CARD, data: { score: NaN } })],
  ["message_create.message.rows[1].buttons[1].press", rows({ label: "a" })],
  ["message_create.message.rows[1].buttons[1].action", rows(action("a".repeat(513)))],
  ["message_create.message.rows[1].buttons[1].url", rows(url("javascript:alert(1)"))],
  ["message_create.message.image", create("c1", { ...CARD, image: "ftp://a.example/i.gif" })],
  ["message_create.message", create("c1", { ...CARD, text: "x".repeat(64 * 1024) })],
  ["idempotency_key", create("c1"), { idempotencyKey: "k".repeat(129) }],
  ["lifetime", create("c1"), { lifetime: { seconds: 86_400, nanos: 1 } }],
])(
  "an event that breaks a rule is refused with the full path of the field: %s",
  async (field, content, rest = {}) => {
    const { id: workspaceId } = await service.workspaces.make();
    const event = { workspaceId, ...(content === undefined ? {} : { content }), ...rest };
    await expectRefused(event, PublishRefusal.INVALID, field);
  },
);

// An event for a native workspace is also refused: see test/store/publish.test.ts.
test("an event for an unknown or disconnected workspace is refused, even if its idempotency key was used before", async () => {
  const { id } = await service.workspaces.make();
  const event = { ...textEvent(id, "x"), idempotencyKey: "k" };
  published((await publish(service.clients, event))[0]);
  await service.workspaces.disconnect(id);
  for (const workspaceId of [id, "11111111-2222-4333-8444-555555555555", "nonsense", ""])
    await expectRefused({ ...event, workspaceId }, PublishRefusal.UNKNOWN_WORKSPACE, "workspace_id");
});

test("an event with an idempotency key that was used before is not published, and gets the first event's result", async () => {
  const workspace = await service.workspaces.make();
  const first = { ...textEvent(workspace.id, "first"), idempotencyKey: "k".repeat(128) };
  const second = { ...first, ...textEvent(workspace.id, "second"), lifetime: { seconds: 5 } };
  const refused = { workspaceId: workspace.id, content: create(""), idempotencyKey: "other" };
  const other = { ...textEvent(workspace.id, "other"), idempotencyKey: "other" };
  const results = await publish(service.clients, first, second, refused, other);
  const [again] = await publish(service.clients, second);
  expect(published(results[0]).repeated).toBe(false);
  const answer = { ...published(results[0]), repeated: true };
  expect([published(results[1]), published(again)]).toEqual([answer, answer]);
  // A refused event does not use up its idempotency key.
  expect([results[2]?.outcome?.$case, published(results[3]).repeated]).toEqual(["refused", false]);
  expect(await heldFor(service.url, workspace)).toMatchObject([
    { id: answer.eventId, message: { text: "first" } },
    { id: published(results[3]).eventId, message: { text: "other" } },
  ]);
});
