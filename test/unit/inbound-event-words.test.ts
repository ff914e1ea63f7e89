import { readInboundEvent } from "../../edge/public/read-inbound-event";

const EVENT = { type: "message", channel: "c1", user: { id: "u1" }, text: "hi" };
const NO_DM =
  "channel must not be a direct conversation in a command; in other events, it is dm: followed by the event's own user.id";

test.each([
  ["an empty text", { text: "" }, "text must not be empty"],
  ["a text that is too long", { text: "x".repeat(4_001) }, "text must have at most 4000 characters"],
  ["an empty user id", { user: { id: "" } }, "user.id must not be empty"],
  ["an unknown field", { extra: 1 }, "extra is not a known field"],
  ["a text with half of a character", { text: "\ud800" }, "text must be well-formed Unicode"],
  ["a command in a direct conversation", { type: "command", channel: "dm:u1" }, NO_DM],
])("the answer to an event with %s says what is not allowed", (_what, change, message) => {
  expect(readInboundEvent({ ...EVENT, ...change })).toMatchObject({ $case: "violation", value: { message } });
});
