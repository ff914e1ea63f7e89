import * as fc from "fast-check";
import { isExpired, MESSAGE_KINDS, type OutboundEvent } from "../../events";
import { dmChannel } from "../../inbound-event";
import { isCursor, readEvent, readJson, readPage } from "../../read-event";
import { MESSAGE_KINDS as SERVICE_KINDS } from "../../../contract/messages";
import { forAll } from "../../../test/harness/for-all";
import { create, head, message, ONE_OF_EACH } from "../../../test/harness/sample-events";

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

// contract: message-kinds
test("the kit lists the kinds that the service sends", () => {
  expect(MESSAGE_KINDS).toEqual(SERVICE_KINDS);
});

// contract: kit-unknown-fields
test("events of all types pass through unchanged, with unknown kinds and unknown fields", () => {
  const unknown = { kind: "hologram", extra: [null], data: { shape: "new" } };
  const event = { ...create(), extra: { a: 1 }, message: { ...message(), ...unknown } };
  for (const each of [event, ...Object.values(ONE_OF_EACH)]) expect(readEvent(each)).toEqual({ event: each });
});

test("an event of an unknown type is not reported as malformed", () => {
  const event = { ...head(), type: "message.pin", channel: 7 };
  expect(readEvent(event)).toEqual({ unknown: event });
});

const HEAD = ["id", "type", "workspace", "sequence", "createdAt", "expiresAt"];

test.each([
  ["message.create", ["channel", "message"]],
  ["message.update", ["channel", "message"]],
  ["message.ephemeral", ["channel", "user", "message"]],
  ["dm.create", ["user", "message"]],
  ["ping", []],
] as const)("in addition to the fields of every event, %s requires %j", (type, fields) => {
  const required = [...HEAD, "channel", "user", "message"].filter((field) => {
    const { [field]: _left, ...rest } = ONE_OF_EACH[type] as unknown as Record<string, unknown>;
    return "fault" in readEvent(rest);
  });
  expect(required).toEqual([...HEAD, ...fields]);
});

test("the readers never throw, regardless of the JSON value", () => {
  forAll(fc.jsonValue(), (value) => {
    expect("fault" in readEvent(value) || readPage(bytes(value)) === undefined).toBe(true);
  });
});

describe("a page", () => {
  const page = { events: [create(1), ONE_OF_EACH.ping], next: "17", hasMore: true, gap: true };

  test("is read with its events, cursor and flags; unknown fields are ignored", () => {
    expect(readPage(bytes({ ...page, extra: 1 }))).toEqual({ page, leftOut: [] });
    const empty = { events: [], next: null, hasMore: false, gap: false };
    expect(readPage(bytes(empty))).toEqual({ page: empty, leftOut: [] });
  });

  test("is read without malformed events and events of an unknown type; both are reported", () => {
    const events = [{ ...head(9), type: "message.pin" }, create(1), { type: "ping" }];
    const reading = readPage(bytes({ ...page, events }));
    expect(reading?.page.events.map(({ id }: OutboundEvent) => id)).toEqual([create(1).id]);
    expect(reading?.leftOut).toEqual([expect.stringContaining("message.pin"), expect.any(String)]);
  });

  test.each([
    ["is a list instead of an object", []],
    ["has no events", { ...page, events: undefined }],
    ["has events that are not a list", { ...page, events: {} }],
    ["has no next", { ...page, next: undefined }],
    ["has a next that is a number", { ...page, next: 17 }],
    ["has a next that is not a cursor", { ...page, next: "17&limit=1" }],
  ])("that %s is malformed", (_what, value) => {
    expect(readPage(bytes(value))).toBeUndefined();
  });
});

test("a body that is not JSON in UTF-8 is read as undefined", () => {
  expect(readJson(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
  expect(readJson(Buffer.from("{"))).toBeUndefined();
});

// contract: poll-cursor
test.each([
  ["0", true],
  ["123456789012345678", true],
  ["1234567890123456789", false],
  ["", false],
  ["-1", false],
  ["latest", false],
  ["1\n", false],
])("a cursor is 1 to 18 digits: %j", (text, is) => {
  expect(isCursor(text)).toBe(is);
});

// time: controlled
// contract: kit-expired
test.each([
  ["null", null, 0, false],
  ["now", "2026-01-01T00:01:00.000Z", 0, false],
  ["a millisecond ago", "2026-01-01T00:01:00.000Z", 1, true],
  ["in a millisecond", "2026-01-01T00:01:00.000Z", -1, false],
])("an event is expired only after its expiresAt: %s", (_what, expiresAt, laterMs, is) => {
  expect(isExpired({ expiresAt }, Date.parse("2026-01-01T00:01:00.000Z") + laterMs)).toBe(is);
});

// contract: kit-dm
test("the DM channel of a member is `dm:`, followed by the member's user id", () => {
  expect(dmChannel("u1")).toBe("dm:u1");
});
