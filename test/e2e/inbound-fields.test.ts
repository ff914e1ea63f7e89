import { randomUUID } from "node:crypto";
import { post } from "../harness/bridge";
import { startConsumer } from "../harness/consumer";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import type { TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

// This file tests the fields of inbound events over HTTP. test/unit/read-inbound-event.test.ts tests more rules and
// combinations.
const service = sharedService();
const workspace = freshWorkspace(service);

const USER = { id: "u1" };
const COMMAND = { type: "command", channel: "c1", user: USER, text: "start" };
const ACTION = { type: "action", channel: "c1", user: USER, messageId: "m1", action: "a" };
const MESSAGE = { type: "message", channel: "c1", user: USER, text: "hi" };

/** Returns `length` emoji. Each emoji is one code point: two code units in UTF-16, and four bytes in UTF-8. */
const astral = (length: number) => "😀".repeat(length);
const dm = (length: number) => ({
  channel: `dm:${"u".repeat(length - 3)}`,
  user: { id: "u".repeat(length - 3) },
});

const send = (event: object | string, to: TestWorkspace = workspace) => post(service.url, to, event);

async function expectAccepted(event: object): Promise<void> {
  const { status, headers, body } = await send(event);
  expect([status, body.toString()]).toEqual([202, '{"ok":true}']);
  expect(headers["content-type"]).toMatch(/^application\/json\b/);
}

// contract: check-7, error-body, inbound-id, inbound-channel, inbound-channel-name, inbound-user-id, inbound-user-name
test.each<[string, number, (text: string) => object]>([
  // contract: inbound-command-text, inbound-message-text, inbound-message-id, inbound-action, inbound-reply-to
  ["id", 128, (id) => ({ ...COMMAND, id })],
  ["channel", 128, (channel) => ({ ...MESSAGE, channel })],
  ["channel.name", 128, (name) => ({ ...COMMAND, channel: { id: "c1", name } })],
  ["user.id", 128, (id) => ({ ...MESSAGE, user: { id } })],
  ["user.name", 128, (name) => ({ ...COMMAND, user: { ...USER, name } })],
  ["text", 2000, (text) => ({ ...COMMAND, text })],
  ["text", 4000, (text) => ({ ...MESSAGE, text })],
  ["messageId", 128, (messageId) => ({ ...ACTION, messageId })],
  ["action", 512, (action) => ({ ...ACTION, action })],
  ["replyTo", 128, (replyTo) => ({ ...MESSAGE, replyTo })],
])(
  "%s of %i characters is accepted, and a value with one character more is answered with 400",
  async (field, max, eventOf) => {
    await expectAccepted(eventOf(astral(max)));
    expectRefusal(await send(eventOf(astral(max + 1))), 400, field);
  },
);

// contract: post-202, post-unplayed, inbound-command-text, inbound-dm-channel
test.each<[string, object]>([
  ["an action", ACTION],
  ["a message that no game expects", MESSAGE],
  ["a command with an empty text, which asks for help", { ...COMMAND, text: "" }],
  ["a channel id that begins with DM: in capitals", { ...COMMAND, channel: "DM:u1" }],
  ["a replyTo of null", { ...MESSAGE, replyTo: null }],
  [
    "an action in the member's own DM, with the channel as an object",
    { ...ACTION, channel: { id: "dm:u1", name: "x" } },
  ],
  ["a DM channel of 131 characters", { ...ACTION, ...dm(131) }],
])("%s is accepted", (_what, event) => expectAccepted(event));

// contract: check-7, inbound-types, inbound-channel, inbound-unknown-fields, inbound-required, inbound-message-text
test.each<[string, object | string, string | undefined]>([
  // contract: inbound-dm-400, inbound-no-dm-prefix, inbound-dm-channel
  ["an unknown type", { ...COMMAND, type: "ping" }, "type"],
  ["a channel without an id", { ...COMMAND, channel: { name: "x" } }, "channel.id"],
  ["an unknown field of a channel", { ...COMMAND, channel: { id: "c", topic: "x" } }, "channel.topic"],
  ["an unknown field of a user", { ...COMMAND, user: { ...USER, avatar: "x" } }, "user.avatar"],
  ["a command without text", { ...COMMAND, text: undefined }, "text"],
  ["a message with an empty text", { ...MESSAGE, text: "" }, "text"],
  ["a field that belongs to another type of event", { ...COMMAND, replyTo: null }, "replyTo"],
  [
    "an event with an invalid field, and an unknown field that is checked later,",
    { extra: 1, ...COMMAND, text: 1 },
    "text",
  ],
  ["a command in a DM channel", { ...COMMAND, channel: { id: "dm:u1" } }, "channel"],
  ["an action in another member's DM", { ...ACTION, channel: { id: "dm:u2" } }, "channel"],
  ["a message in the channel dm: (without a user id)", { ...MESSAGE, channel: "dm:" }, "channel"],
  ["a DM channel of 132 characters", { ...ACTION, ...dm(132) }, "channel"],
  ["a lone surrogate in a text", { ...MESSAGE, text: "\ud83d" }, "text"],
  ["a number over 2^53", '{"type":"message","channel":"c","user":{"id":9007199254740993}}', "user.id"],
  [
    "a field named __proto__",
    '{"type":"command","channel":"c","user":{"id":"u"},"text":"","__proto__":{}}',
    "__proto__",
  ],
  ["a list instead of an object", "[]", undefined],
])("%s is answered with 400 and the name of the first invalid field, if any", async (_what, event, field) => {
  expectRefusal(await send(event), 400, field);
});

// time: ordering
test("an accepted event reaches the game unchanged, together with its workspace and the time at which it was stored", async () => {
  const to = await service.workspaces.make();
  const consumer = await startConsumer(service.clients.games, { group: randomUUID() }).opened();
  const text = "``\\|~ \u0000\n😀 <b>&amp;</b> \u2028";
  const channel = { id: "C 1/ä", name: 'lobby "one"' };
  const user = { id: "U:1%", name: "Zoë 🎲" };
  const began = Date.now();
  await send({ ...COMMAND, id: "r-1", channel, user, text }, to);
  await send({ ...ACTION, action: text }, to);
  await send({ ...MESSAGE, channel: "dm:u1", user: { ...USER, name: null }, replyTo: "m9" }, to);
  const seen = () => consumer.seen.filter(({ workspaceId }) => workspaceId === to.id);
  await until("three events arrive", () => seen().length === 3);
  consumer.cancel();
  const bare = { id: undefined, channel: { id: "c1", name: undefined }, user: { id: "u1", name: undefined } };
  const dmChannel = { id: "dm:u1", name: undefined };
  expect(seen().map(({ received }) => received)).toEqual(
    [
      { id: "r-1", channel, user, kind: { $case: "command", value: { text } } },
      { ...bare, kind: { $case: "action", value: { messageId: "m1", action: text } } },
      { ...bare, channel: dmChannel, kind: { $case: "message", value: { text: "hi", replyTo: "m9" } } },
    ].map((event) => ({ event, workspaceId: to.id, receivedAt: expect.any(Date) as Date })),
  );
  for (const { id, received } of seen()) {
    expect(id).toMatch(/^\d+:\d+-\d+$/);
    const receivedAt = received.receivedAt?.getTime() ?? 0;
    expect(receivedAt).toBeGreaterThanOrEqual(began - 5);
    expect(receivedAt).toBeLessThanOrEqual(Date.now() + 5);
  }
});

test("whether an event is accepted or rejected, no text, name, body or secret is logged", async () => {
  const words = ["private-text", "private-name", "private-channel", "private-field"];
  const event = { ...MESSAGE, channel: { id: "c1", name: words[2] }, user: { ...USER, name: words[1] } };
  expect((await send({ ...event, text: words[0] })).status).toBe(202);
  expectRefusal(await send({ ...event, text: words[0], "private-field": 1 }), 400, "private-field");
  expectQuiet([service.core, service.edge], [...words, workspace.secret, "v1="]);
});
