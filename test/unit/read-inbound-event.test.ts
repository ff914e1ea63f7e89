import * as fc from "fast-check";
import { readInboundEvent } from "../../edge/read-inbound-event";
import { readJson } from "../../edge/read-json";
import { faultByTable, isPlainObject } from "./inbound-event-model";

/** "valid", or the field at fault; undefined when it is the whole body. */
function outcome(body: unknown): string | undefined {
  const json = readJson(Buffer.from(JSON.stringify(body)));
  const read = readInboundEvent(json?.value);
  return "event" in read ? "valid" : read.violation.field;
}

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
  expect(outcome(body)).toBe(field);
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
  expect(outcome(body)).toBe(field);
});

// contract: inbound-unknown-fields, inbound-required
test("names that every object inherits are unknown fields, and stand for none that is required", () => {
  expect(outcome({ ...COMMAND, ["__proto__"]: { type: "command" } })).toBe("__proto__");
  expect(outcome({ ["__proto__"]: COMMAND })).toBe("type");
  expect(outcome({ ...COMMAND, user: { ["__proto__"]: { id: "u1" } } })).toBe("user.id");
  for (const name of ["constructor", "prototype", "toString", "hasOwnProperty"]) {
    expect(outcome({ ...COMMAND, [name]: 1 })).toBe(name);
    expect(outcome({ ...COMMAND, user: { id: "u1", [name]: 1 } })).toBe(`user.${name}`);
    expect(outcome({ ...COMMAND, type: name })).toBe("type");
  }
});

test("the name of an unknown field is not repeated at any length", () => {
  expect(outcome({ ...COMMAND, ["x".repeat(60_000)]: 1 })?.length).toBeLessThan(1_000);
});

/** Texts whose lengths, in characters of one or two UTF-16 units, are around the bounds. */
const edgeText = fc
  .tuple(
    fc.constantFrom("a", "😀", "\u0000"),
    fc.constantFrom(0, 1, 127, 128, 129, 131, 132, 512, 513, 2000, 2001, 4000, 4001),
    fc.constantFrom("", "dm:", "\ud800", "DM:"),
  )
  .map(([character, length, start]) => start + character.repeat(length));
const userId = fc.oneof(fc.constantFrom("u1", "u2", "dm:u1"), edgeText);
const anything = fc.oneof(
  edgeText,
  fc.constantFrom<unknown>(null, true, 0, 2 ** 53, [], {}, ["c1"], "dm:u1", "dm:u2", "command", "message"),
  fc.jsonValue({ maxDepth: 2 }),
);
const fieldName = fc.oneof(
  fc.constantFrom("type", "id", "channel", "user", "text", "messageId", "action", "replyTo", "name"),
  fc.constantFrom("__proto__", "constructor", "toString", "", "a.b", "1"),
  fc.string(),
);

/** Events that keep every rule, of all types. */
const goodEvent = fc
  .record({
    base: fc.constantFrom(COMMAND, ACTION, MESSAGE),
    id: fc.option(fc.string({ minLength: 1, maxLength: 128 }), { nil: undefined }),
    user: fc.string({ minLength: 1, maxLength: 128, unit: "binary" }),
    names: fc.option(fc.constantFrom(null, "", "Ünï", "😀".repeat(128)), { nil: undefined }),
    inDm: fc.boolean(),
    asObject: fc.boolean(),
  })
  .map(({ base, id, user, names, inDm, asObject }): Record<string, unknown> => {
    const channel = inDm && base !== COMMAND ? `dm:${user}` : "c1";
    return {
      ...base,
      ...(id === undefined ? {} : { id }),
      channel: asObject ? { id: channel, ...(names === undefined ? {} : { name: names }) } : channel,
      user: { id: user, ...(names === undefined ? {} : { name: names }) },
    };
  });

/** A change of an event at its top, in its channel or in its user. */
const change = fc
  .tuple(
    fc.constantFrom("top", "channel", "user"),
    fieldName,
    fc.oneof(
      { weight: 3, arbitrary: anything.map((value) => ({ value })) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
  )
  .map(([level, name, to]) => (event: Record<string, unknown>): Record<string, unknown> => {
    if (level === "top") return changed(event, name, to);
    const inner = event[level];
    return isPlainObject(inner) ? { ...event, [level]: changed(inner, name, to) } : event;
  });

function changed(object: Record<string, unknown>, name: string, to: { value: unknown } | undefined) {
  if (to !== undefined) return { ...object, [name]: to.value };
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
}

test("every event that keeps the rules is valid", () => {
  fc.assert(fc.property(goodEvent, (event) => outcome(event) === "valid"));
});

// contract: inbound-types, inbound-required, inbound-unknown-fields
test("an event is judged by the contract's table, and so is the field at fault", () => {
  const swapped = fc.tuple(fc.constantFrom("user", "channel"), userId);
  const nearlyGood = fc
    .tuple(goodEvent, fc.option(swapped), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([event, swap, changes]) => {
      const [level, id] = swap ?? ["", ""];
      const start = swap === null ? event : { ...event, [level]: level === "user" ? { id } : `dm:${id}` };
      return changes.reduce((body, change) => change(body), start);
    });
  const anyJson: fc.Arbitrary<unknown> = fc.jsonValue();
  fc.assert(
    fc.property(
      fc.oneof({ weight: 40, arbitrary: nearlyGood }, { weight: 1, arbitrary: anyJson }),
      (body) => {
        const sent: unknown = JSON.parse(JSON.stringify(body));
        expect(outcome(body)).toBe(faultByTable(sent));
      },
    ),
    { numRuns: 5_000 },
  );
});
