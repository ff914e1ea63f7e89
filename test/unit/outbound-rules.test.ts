import * as fc from "fast-check";
import { MESSAGE_KINDS } from "../../contract/messages";
import type { Button, MessageBody, OutboundEvent } from "../../core/domain/outbound-event";
import { findOutboundFault } from "../../core/domain/outbound-rules";
import { ANY_CHARACTER } from "../harness/for-all";

const NONE = { buttons: [], image: null, awaitsReply: false, data: null };
const CARD: MessageBody = { kind: "card", text: "hi", ...NONE };
const ID = "msg_01J0ABCDEFGHJKMNPQRSTVWXYZ";

function event(content: OutboundEvent["content"], rest: Partial<OutboundEvent> = {}): OutboundEvent {
  return { workspaceId: "w", content, idempotencyKey: "", lifetimeMs: undefined, ...rest };
}

const create = (channel: string, message: Partial<MessageBody> = {}): OutboundEvent =>
  event({ type: "message.create", channel, message: { ...CARD, ...message } });
const update = (channel: string, messageId = ID): OutboundEvent =>
  event({ type: "message.update", channel, messageId, message: CARD });
const ephemeral = (channel: string, user: string): OutboundEvent =>
  event({ type: "message.ephemeral", channel, user, message: CARD });
const dm = (user: string): OutboundEvent => event({ type: "dm.create", user, message: CARD });
const button = (press: Button): OutboundEvent =>
  create("c1", { buttons: [[{ label: "ok", action: "ok" }], [{ label: "ok", action: "ok" }, press]] });

type Row = [what: string, field: string, event: OutboundEvent];
const BUTTON = "message.rows[1].buttons[1]";
const ofUrl = (url: string): Row => [`the url ${url}`, `${BUTTON}.url`, button({ label: "a", url })];
const ofId = (id: string): Row => [`the message id ${JSON.stringify(id)}`, "message.id", update("c1", id)];
const ofImage = (image: string): Row => [`the image ${image}`, "message.image", create("c1", { image })];
const ofLifetime = (ms: number): Row => [
  `a lifetime of ${ms} ms`,
  "lifetime",
  { ...dm("u1"), lifetimeMs: ms },
];
const smile = "\u{1f600}";

// contract: outbound-channel, message-buttons, message-image
test.each<Row>([
  ["an empty channel", "channel", create("")],
  ["a channel of 129 characters", "channel", create("c".repeat(129))],
  ["a channel of 129 characters outside of the BMP", "channel", create(smile.repeat(129))],
  ["a DM channel in a create", "channel", create("dm:u1")],
  ["a DM channel in an ephemeral", "channel", ephemeral("dm:u1", "u1")],
  ["a DM channel without a user id, in an update", "channel", update("dm:")],
  ["a DM channel of 132 characters, in an update", "channel", update(`dm:${"u".repeat(129)}`)],
  ["an empty user in an ephemeral", "user", ephemeral("c1", "")],
  ["an empty user in a DM", "user", dm("")],
  ["a user of 129 characters", "user", dm("u".repeat(129))],
  ...["", ID.replace("msg", "evt"), ID.toLowerCase(), ID.slice(0, -1), `${ID}0`, `${ID}\n`].map(ofId),
  ...[..."ILOU"].map((letter) => ofId(ID.replace("A", letter))),
  ["text that is not Unicode", "message.text", create("c1", { text: "\ud800" })],
  ["data without text", "message.text", create("c1", { text: "", data: { a: 1 } })],
  ["text of whitespace only", "message.text", create("c1", { text: " \n\t\u00a0" })],
  ["text of invisible characters only", "message.text", create("c1", { text: "\u200b\u2060\ufeff\u3164" })],
  ["buttons in a message of the kind text", "message.rows", create("c1", { kind: "text", buttons: [[]] })],
  ["data in a message of the kind text", "message.data", create("c1", { kind: "text", data: {} })],
  ["a row without buttons", "message.rows[0]", create("c1", { buttons: [[]] })],
  ["an empty label", `${BUTTON}.label`, button({ label: "", action: "a" })],
  ["an empty action", `${BUTTON}.action`, button({ label: "a", action: "" })],
  ["an action of 513 characters", `${BUTTON}.action`, button({ label: "a", action: "a".repeat(513) })],
  ["an empty url", `${BUTTON}.url`, button({ label: "a", url: "" })],
  ["a url with a space", `${BUTTON}.url`, button({ label: "a", url: "https://a.example/a b" })],
  ..."/a https:// https://a.example/ü https://a.example/{a} https://a.example/%zz".split(" ").map(ofUrl),
  ..."javascript:alert(1) JaVaScRiPt:alert(1) vbscript:a data:text/html,a".split(" ").map(ofUrl),
  ..."file:///etc/hosts blob:https://a.example/b about:blank tel:+4930 https:a.example".split(" ").map(ofUrl),
  ...["", "data:image/gif;base64,R0lGODlh", "ftp://a.example/i.gif"].map(ofImage),
  ...["https:i.gif", "//a.example/i.gif"].map(ofImage),
  [
    "an idempotency key of 129 characters",
    "idempotency_key",
    { ...dm("u1"), idempotencyKey: "k".repeat(129) },
  ],
  ...[999.999, 0, -60_000, 86_400_000.001, NaN].map(ofLifetime),
])("%s is rejected, and the fault names the field %s", (_name, field, bad) => {
  expect(findOutboundFault(bad)).toEqual({ field, message: expect.stringContaining(field) as string });
});

test.each<[string, OutboundEvent]>([
  ["a channel of 128 characters outside of the BMP", create(smile.repeat(128))],
  ["a channel that only looks like a DM", create("dm")],
  ["a DM channel in an update", update("dm:u1")],
  ["a DM channel of 131 characters, in an update", update(`dm:${smile.repeat(128)}`)],
  ["an ephemeral", ephemeral("c1", "u1")],
  ["a user of 128 characters", dm(smile.repeat(128))],
  ["empty text with a button", create("c1", { text: "", buttons: [[{ label: "a", action: "a" }]] })],
  ["empty text with an image", create("c1", { text: "", image: "https://a.example/i.gif" })],
  ["an action of 512 characters outside of the BMP", button({ label: "a", action: smile.repeat(512) })],
  ["a mailto link", button({ label: "a", url: "mailto:a@b.example" })],
  ["a link with every part", button({ label: "a", url: "https://a.example:1/b;c/%C3%BC?d=[e]&f='g'#h?i" })],
  ["an image whose URL has HTTP in capitals", create("c1", { image: "HTTP://a.example/i.gif" })],
  ["an idempotency key of 128 characters", { ...dm("u1"), idempotencyKey: smile.repeat(128) }],
  ["a lifetime of a second", { ...dm("u1"), lifetimeMs: 1_000 }],
  ["a lifetime of 24 hours", { ...dm("u1"), lifetimeMs: 86_400_000 }],
])("%s is accepted", (_name, good) => {
  expect(findOutboundFault(good)).toBeUndefined();
});

test.each(MESSAGE_KINDS)(
  "a message of the kind %s is accepted; unless the kind is text, it is also accepted with buttons and data",
  (kind) => {
    const extras = kind === "text" ? {} : { buttons: [[{ label: "a", action: "a" }]], data: { a: 1 } };
    expect(findOutboundFault(create("c1", { kind }))).toBeUndefined();
    expect(findOutboundFault(create("c1", { kind, ...extras }))).toBeUndefined();
  },
);

test("an action is valid if and only if it has 1 to 512 code points", () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER, minLength: 0, maxLength: 600, size: "max" }), (action) => {
      const fault = findOutboundFault(button({ label: "a", action }));
      const length = [...action].length;
      expect(fault === undefined).toBe(length >= 1 && length <= 512);
    }),
  );
});
