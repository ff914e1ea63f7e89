import { Ajv2020 } from "ajv/dist/2020.js";
import { INBOUND_EVENT_SCHEMAS } from "../../edge/public/inbound-event-schema";
import { readInboundEvent } from "../../edge/public/read-inbound-event";
import { outcomeOf } from "./inbound-event-model";

const COMMAND = { type: "command", channel: "c1", user: { id: "u1" }, text: "" };
const ACTION = { type: "action", channel: "c1", user: { id: "u1" }, messageId: "m1", action: "a" };
const MESSAGE = { type: "message", channel: "c1", user: { id: "u1" }, text: "hi" };

test("a valid event is read with the values of all its fields", () => {
  const user = { id: "u1", name: "Ünï" };
  const channel = { id: "c1", name: "lobby" };
  expect(readInboundEvent({ ...COMMAND, id: "r1", channel, user, text: "start 5" })).toEqual({
    $case: "event",
    value: { id: "r1", channel, user, kind: { $case: "command", value: { text: "start 5" } } },
  });
  expect(readInboundEvent({ ...ACTION, action: "v1:😀\u0000" })).toEqual({
    $case: "event",
    value: {
      id: undefined,
      channel: { id: "c1", name: undefined },
      user: { id: "u1", name: undefined },
      kind: { $case: "action", value: { messageId: "m1", action: "v1:😀\u0000" } },
    },
  });
  expect(readInboundEvent({ ...MESSAGE, channel: "dm:u1", replyTo: "m1" })).toMatchObject({
    $case: "event",
    value: { channel: { id: "dm:u1" }, kind: { $case: "message", value: { text: "hi", replyTo: "m1" } } },
  });
});

// contract: inbound-channel-name, inbound-user-name, inbound-reply-to
test("if a field can be null, a missing field is read as null", () => {
  const nulls = { channel: { id: "c1", name: null }, user: { id: "u1", name: null }, replyTo: null };
  expect(readInboundEvent({ ...MESSAGE, ...nulls })).toEqual(readInboundEvent(MESSAGE));
});

// contract: inbound-unknown-fields, inbound-required
test("a property that every JavaScript object inherits counts as an unknown field, and never as a required one", () => {
  expect(outcomeOf({ ...COMMAND, ["__proto__"]: { type: "command" } })).toBe("__proto__");
  expect(outcomeOf({ ["__proto__"]: COMMAND })).toBe("type");
  expect(outcomeOf({ ...COMMAND, user: { ["__proto__"]: { id: "u1" } } })).toBe("user.id");
  for (const name of ["constructor", "prototype", "toString", "hasOwnProperty"]) {
    expect(outcomeOf({ ...COMMAND, [name]: 1 })).toBe(name);
    expect(outcomeOf({ ...COMMAND, user: { id: "u1", [name]: 1 } })).toBe(`user.${name}`);
    expect(outcomeOf({ ...COMMAND, type: name })).toBe("type");
  }
});

test("if the name of an unknown field is long, the answer contains only the start of the name", () => {
  expect(outcomeOf({ ...COMMAND, ["x".repeat(60_000)]: 1 })?.length).toBeLessThan(1_000);
});

test("the schemas of inbound events are valid JSON Schema; the edge does not check this when it starts", () => {
  const ajv = new Ajv2020();
  for (const schema of Object.values(INBOUND_EVENT_SCHEMAS)) expect(ajv.validateSchema(schema)).toBe(true);
  expect(ajv.validateSchema({ ...INBOUND_EVENT_SCHEMAS.command, required: "type" })).toBe(false);
});
