import * as fc from "fast-check";
import { eventIdOf, renderEnvelope } from "../../core/domain/envelope";
import type { MessageBody, OutboundContent } from "../../core/domain/outbound-event";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const HEAD = {
  eventId: "evt_01J00000000000000000000000",
  workspaceId: "11111111-2222-4333-8444-555555555555",
  createdAtMs: Date.UTC(2025, 0, 2, 3, 4, 5, 6),
  expiresAtMs: Date.UTC(2025, 0, 2, 3, 14, 5, 6),
};
const MESSAGE_ID = "msg_01J00000000000000000000001";
const BODY: MessageBody = {
  kind: "card",
  text: "hi",
  buttons: [[{ label: "Go", action: "go" }], [{ label: "Read", url: "https://a.example/" }]],
  image: "https://a.example/i.gif",
  awaitsReply: true,
  data: { a: [1, null, "x"] },
};
const MESSAGE = { id: MESSAGE_ID, ...BODY };

function render(content: OutboundContent | { type: "ping" }, head: { expiresAtMs: number | null } = HEAD) {
  const { beforeSequence, afterSequence } = renderEnvelope({ ...HEAD, ...head }, content, MESSAGE_ID);
  return `${beforeSequence}1700000000000000${afterSequence}`;
}

const IN_DM = { channel: "dm:u1" };

// contract: envelope-fields, message-fields, envelope-created-at
test.each<[string, object, object]>([
  ["message.create", { channel: "c1" }, { channel: "c1", message: MESSAGE }],
  ["message.update", { ...IN_DM, messageId: MESSAGE_ID }, { ...IN_DM, message: MESSAGE }],
  ["message.ephemeral", { channel: "c1", user: "u1" }, { channel: "c1", user: "u1", message: MESSAGE }],
  ["dm.create", { user: "u1" }, { user: "u1", message: MESSAGE }],
  ["ping", {}, {}],
])("the envelope of %s has only the common fields and the fields of its type", (type, content, own) => {
  expect(JSON.parse(render({ type, ...content, message: BODY } as OutboundContent))).toStrictEqual({
    id: HEAD.eventId,
    type,
    workspace: HEAD.workspaceId,
    sequence: 1700000000000000,
    createdAt: "2025-01-02T03:04:05.006Z",
    expiresAt: "2025-01-02T03:14:05.006Z",
    ...own,
  });
});

// contract: message-image, message-data, envelope-expires-at
test("fields without a value are present: expiry, image and data are null, and buttons are an empty array", () => {
  const none = { buttons: [], image: null, awaitsReply: false, data: null };
  const message: MessageBody = { kind: "text", text: "", ...none };
  const rendered = render({ type: "dm.create", user: "u1", message }, { expiresAtMs: null });
  expect(JSON.parse(rendered)).toMatchObject({ expiresAt: null, message: { id: MESSAGE_ID, ...message } });
});

test("the envelope is JSON that parses to the same strings and data, whatever they contain", () => {
  const names = fc.string().filter((key) => key !== "__proto__");
  const [channels, texts] = [fc.string({ unit: ANY_CHARACTER }), fc.string({ unit: ANY_CHARACTER })];
  forAll(channels, texts, fc.dictionary(names, fc.jsonValue()), (channel, text, data) => {
    // `JSON.stringify` writes -0 as 0, so the test expects 0.
    const message = { ...BODY, text, data: JSON.parse(JSON.stringify(data)) as Record<string, unknown> };
    const rendered = JSON.parse(render({ type: "message.create", channel, message })) as object;
    expect(rendered).toMatchObject({ channel, message: { text, data: message.data } });
  });
});

test("the id of a rendered event can be read without parsing the event", () => {
  expect([eventIdOf(render({ type: "ping" })), eventIdOf('{"type":"ping"}')]).toEqual([HEAD.eventId, ""]);
});
