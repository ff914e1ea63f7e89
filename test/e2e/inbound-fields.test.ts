import { randomUUID } from "node:crypto";
import { post } from "../harness/bridge";
import { startConsumer } from "../harness/consumer";
import { expectQuiet } from "../harness/output";
import { expectRefusal } from "../harness/refusals";
import type { TestWorkspace } from "../harness/service";
import { freshWorkspace, sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

// Of single fields, and of fields in any combination: test/unit/read-inbound-event.test.ts.
const service = sharedService();
const workspace = freshWorkspace(service);

const USER = { id: "u1" };
const COMMAND = { type: "command", channel: "c1", user: USER, text: "start" };
const ACTION = { type: "action", channel: "c1", user: USER, messageId: "m1", action: "a" };
const MESSAGE = { type: "message", channel: "c1", user: USER, text: "hi" };

/** As many code points, each of two UTF-16 units and four bytes. */
const astral = (length: number) => "😀".repeat(length);
const dm = (length: number) => ({
  channel: `dm:${"u".repeat(length - 3)}`,
  user: { id: "u".repeat(length - 3) },
});

const send = (event: object | string, to: TestWorkspace = workspace) => post(service.url, to, event);

// contract: post-202
test.each<[string, object]>([
  ["a command", COMMAND],
  ["an action", ACTION],
  // contract: post-unplayed
  ["a message", MESSAGE],
  // contract: inbound-id
  ["an id of 128 characters", { ...COMMAND, id: astral(128) }],
  // contract: inbound-command-text
  ["an empty text of a command: help", { ...COMMAND, text: "" }],
  ["a command's text of 2000 characters", { ...COMMAND, text: astral(2000) }],
  // contract: inbound-message-text
  ["a message's text of 4000 characters", { ...MESSAGE, text: astral(4000) }],
  // contract: inbound-channel
  ["a channel of 128 characters", { ...COMMAND, channel: astral(128) }],
  ["a channel that begins nearly like a DM", { ...COMMAND, channel: "DM:u1" }],
  // contract: inbound-channel-name
  ["a channel's name of 128 characters", { ...COMMAND, channel: { id: "c1", name: astral(128) } }],
  // contract: inbound-user-id, inbound-user-name
  ["a user's id and name of 128 characters", { ...COMMAND, user: { id: astral(128), name: astral(128) } }],
  // contract: inbound-message-id
  ["a message id of 128 characters", { ...ACTION, messageId: astral(128) }],
  // contract: inbound-action
  ["an action of 512 characters", { ...ACTION, action: astral(512) }],
  // contract: inbound-reply-to
  ["a replyTo of 128 characters", { ...MESSAGE, replyTo: astral(128) }],
  ["a replyTo of null", { ...MESSAGE, replyTo: null }],
  // contract: inbound-dm-channel
  ["a press in the member's own DM, as an object", { ...ACTION, channel: { id: "dm:u1", name: "x" } }],
  ["a DM of 131 characters", { ...ACTION, ...dm(131) }],
])("%s is accepted", async (_what, event) => {
  const { status, headers, body } = await send(event);
  expect([status, body.toString()]).toEqual([202, '{"ok":true}']);
  expect(headers["content-type"]).toMatch(/^application\/json\b/);
});

// contract: check-7, error-body
test.each<[string, object | string, string | undefined]>([
  // contract: inbound-types
  ["an unknown type", { ...COMMAND, type: "ping" }, "type"],
  // contract: inbound-id
  ["an id of 129 characters", { ...COMMAND, id: astral(129) }, "id"],
  // contract: inbound-channel
  ["a channel of 129 characters", { ...MESSAGE, channel: astral(129) }, "channel"],
  ["a channel without an id", { ...COMMAND, channel: { name: "x" } }, "channel.id"],
  // contract: inbound-channel-name
  [
    "a channel's name of 129 characters",
    { ...COMMAND, channel: { id: "c", name: astral(129) } },
    "channel.name",
  ],
  // contract: inbound-channel, inbound-unknown-fields
  ["an unknown field of a channel", { ...COMMAND, channel: { id: "c", topic: "x" } }, "channel.topic"],
  // contract: inbound-user-id
  ["a user's id of 129 characters", { ...MESSAGE, user: { id: astral(129) } }, "user.id"],
  // contract: inbound-user-name
  ["a user's name of 129 characters", { ...COMMAND, user: { ...USER, name: astral(129) } }, "user.name"],
  // contract: inbound-unknown-fields
  ["an unknown field of a user", { ...COMMAND, user: { ...USER, avatar: "x" } }, "user.avatar"],
  // contract: inbound-required
  ["a command without text", { ...COMMAND, text: undefined }, "text"],
  // contract: inbound-command-text
  ["a command's text of 2001 characters", { ...COMMAND, text: "x".repeat(2001) }, "text"],
  // contract: inbound-message-text
  ["a message's empty text", { ...MESSAGE, text: "" }, "text"],
  ["a message's text of 4001 characters", { ...MESSAGE, text: "x".repeat(4001) }, "text"],
  // contract: inbound-message-id
  ["a message id of 129 characters", { ...ACTION, messageId: astral(129) }, "messageId"],
  // contract: inbound-action
  ["an action of 513 characters", { ...ACTION, action: astral(513) }, "action"],
  // contract: inbound-reply-to
  ["a replyTo of 129 characters", { ...MESSAGE, replyTo: astral(129) }, "replyTo"],
  // contract: inbound-unknown-fields
  ["a field of another type of event", { ...COMMAND, replyTo: null }, "replyTo"],
  ["an unknown field beside one at fault", { extra: 1, ...COMMAND, text: 1 }, "text"],
  // contract: inbound-dm-400
  ["a DM on a command", { ...COMMAND, channel: { id: "dm:u1" } }, "channel"],
  ["another member's DM", { ...ACTION, channel: { id: "dm:u2" } }, "channel"],
  // contract: inbound-no-dm-prefix
  ["a bare dm: on a message", { ...MESSAGE, channel: "dm:" }, "channel"],
  // contract: inbound-dm-channel
  ["a DM of 132 characters", { ...ACTION, ...dm(132) }, "channel"],
  ["a lone surrogate in a text", { ...MESSAGE, text: "\ud83d" }, "text"],
  ["a number past 2^53", '{"type":"message","channel":"c","user":{"id":9007199254740993}}', "user.id"],
  ["__proto__", '{"type":"command","channel":"c","user":{"id":"u"},"text":"","__proto__":{}}', "__proto__"],
  ["a list", "[]", undefined],
])("%s is refused, and the first field at fault is named", async (_what, event, field) => {
  expectRefusal(await send(event), 400, field);
});

test("an accepted event reaches the game as it was sent", async () => {
  const to = await service.workspaces.make();
  const consumer = await startConsumer(service.clients.games, { group: randomUUID() }).opened();
  const text = "``\\|~ \u0000\n😀 <b>&amp;</b> \u2028";
  const channel = { id: "C 1/ä", name: 'lobby "one"' };
  const user = { id: "U:1%", name: "Zoë 🎲" };
  await send({ ...COMMAND, id: "r-1", channel, user, text }, to);
  await send({ ...ACTION, action: text }, to);
  await send({ ...MESSAGE, channel: "dm:u1", user: { ...USER, name: null }, replyTo: "m9" }, to);
  const seen = () => consumer.seen.filter(({ workspaceId }) => workspaceId === to.id);
  await until("three events", () => seen().length === 3);
  consumer.cancel();
  const bare = { id: undefined, channel: { id: "c1", name: undefined }, user: { id: "u1", name: undefined } };
  expect(seen().map(({ received }) => received.event)).toEqual([
    { id: "r-1", channel, user, kind: { $case: "command", value: { text } } },
    { ...bare, kind: { $case: "action", value: { messageId: "m1", action: text } } },
    {
      ...bare,
      channel: { id: "dm:u1", name: undefined },
      kind: { $case: "message", value: { text: "hi", replyTo: "m9" } },
    },
  ]);
});

test("no text, name, body or secret is logged, whether an event was accepted or refused", async () => {
  const words = ["private-text", "private-name", "private-channel", "private-field"];
  const event = { ...MESSAGE, channel: { id: "c1", name: words[2] }, user: { ...USER, name: words[1] } };
  expect((await send({ ...event, text: words[0] })).status).toBe(202);
  expectRefusal(await send({ ...event, text: words[0], "private-field": 1 }), 400, "private-field");
  expectQuiet([service.core, service.edge], [...words, workspace.secret, "v1="]);
});
