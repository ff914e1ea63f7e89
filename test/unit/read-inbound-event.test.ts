import { readInboundEvent } from "../../edge/read-inbound-event";
import { outcomeOf } from "./inbound-event-model";

const COMMAND = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const ACTION = { type: "action", channel: "c1", user: { id: "u1" }, messageId: "m1", action: "a" };
const MESSAGE = { type: "message", channel: "c1", user: { id: "u1" }, text: "hi" };

test("what an event says is passed on", () => {
  const user = { id: "u1", name: "Ünï" };
  const channel = { id: "c1", name: "lobby" };
  expect(readInboundEvent({ ...COMMAND, id: "r1", channel, user, text: "start 5" })).toEqual({
    event: { id: "r1", channel, user, kind: { $case: "command", value: { text: "start 5" } } },
  });
  expect(readInboundEvent({ ...ACTION, action: "v1:😀\u0000" })).toEqual({
    event: {
      id: undefined,
      channel: { id: "c1", name: undefined },
      user: { id: "u1", name: undefined },
      kind: { $case: "action", value: { messageId: "m1", action: "v1:😀\u0000" } },
    },
  });
  expect(readInboundEvent({ ...MESSAGE, channel: "dm:u1", replyTo: "m1" })).toMatchObject({
    event: { channel: { id: "dm:u1" }, kind: { $case: "message", value: { text: "hi", replyTo: "m1" } } },
  });
});

// contract: inbound-channel-name, inbound-user-name, inbound-reply-to
test("null is the same as nothing where it is allowed", () => {
  const nulls = { channel: { id: "c1", name: null }, user: { id: "u1", name: null }, replyTo: null };
  expect(readInboundEvent({ ...MESSAGE, ...nulls })).toEqual(readInboundEvent(MESSAGE));
});

// contract: check-7
test.each<[string, object, string]>([
  ["type, before all others", { bogus: 1 }, "type"],
  ["id, before channel", { type: "command", id: "", bogus: 1 }, "id"],
  ["channel, before user", { type: "command", bogus: 1 }, "channel"],
  ["channel.id, before its name", { ...COMMAND, channel: { name: 1, bogus: 1 } }, "channel.id"],
  ["channel.name, before others", { ...COMMAND, channel: { bogus: 1, id: "c1", name: 1 } }, "channel.name"],
  ["the unknown in channel, before user", { type: "command", channel: { id: "c", x: 1 } }, "channel.x"],
  ["user, before text", { type: "command", channel: "c1", bogus: 1 }, "user"],
  ["user.id, before user.name", { ...COMMAND, user: { name: 1, bogus: 1 } }, "user.id"],
  ["user.name, before what is unknown", { ...COMMAND, user: { bogus: 1, id: "u1", name: 1 } }, "user.name"],
  ["text, before replyTo", { ...MESSAGE, text: "", replyTo: 1 }, "text"],
  ["replyTo, before what is unknown", { bogus: 1, ...MESSAGE, replyTo: 1 }, "replyTo"],
  ["messageId, before action", { ...ACTION, messageId: "", action: "" }, "messageId"],
  ["the first of the unknown", { ...COMMAND, zebra: 1, ant: 1 }, "zebra"],
])("of several fields at fault the first of the table is named: %s", (_what, body, field) => {
  expect(outcomeOf(body)).toBe(field);
});

// contract: inbound-dm-400
test.each<[string, object, string]>([
  ["whose user is missing", { ...MESSAGE, channel: "dm:u1", user: undefined }, "user"],
  ["whose user is no object", { ...MESSAGE, channel: "dm:u1", user: "u1" }, "user"],
  ["whose user has no id", { ...MESSAGE, channel: "dm:u1", user: {} }, "user.id"],
  ["of its own user, with a bad name", { ...MESSAGE, channel: { id: "dm:u1", name: 5 } }, "channel.name"],
  ["of its own user, with an unknown field", { ...MESSAGE, channel: { id: "dm:u1", x: 5 } }, "channel.x"],
  ["of another member, with a bad name", { ...MESSAGE, channel: { id: "dm:u2", name: 5 } }, "channel"],
  ["on a command, with a bad name", { ...COMMAND, channel: { id: "dm:u1", name: 5 } }, "channel"],
  ["of another member, after a bad id", { ...MESSAGE, id: "", channel: "dm:u2" }, "id"],
  ["of another member, before a bad text", { ...MESSAGE, channel: "dm:u2", text: "" }, "channel"],
])("a DM %s is answered with the field at fault", (_what, body, field) => {
  expect(outcomeOf(body)).toBe(field);
});

// contract: inbound-unknown-fields, inbound-required
test("names that every object inherits are unknown fields, and stand for none that is required", () => {
  expect(outcomeOf({ ...COMMAND, ["__proto__"]: { type: "command" } })).toBe("__proto__");
  expect(outcomeOf({ ["__proto__"]: COMMAND })).toBe("type");
  expect(outcomeOf({ ...COMMAND, user: { ["__proto__"]: { id: "u1" } } })).toBe("user.id");
  for (const name of ["constructor", "prototype", "toString", "hasOwnProperty"]) {
    expect(outcomeOf({ ...COMMAND, [name]: 1 })).toBe(name);
    expect(outcomeOf({ ...COMMAND, user: { id: "u1", [name]: 1 } })).toBe(`user.${name}`);
    expect(outcomeOf({ ...COMMAND, type: name })).toBe("type");
  }
});

test("the name of an unknown field is not repeated at any length", () => {
  expect(outcomeOf({ ...COMMAND, ["x".repeat(60_000)]: 1 })?.length).toBeLessThan(1_000);
});
