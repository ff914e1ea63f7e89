import { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import { publishCalls } from "../../publish-calls";

const eventOf = (text: string): OutboundEvent =>
  OutboundEvent.create({
    workspaceId: "w",
    content: { $case: "messageCreate", value: { channel: "c", message: { text } } },
  });
const textOf = ({ content }: OutboundEvent): string =>
  content?.$case === "messageCreate" ? (content.value.message?.text ?? "") : "";

test("a call has at most 100 events, and the calls keep the order", () => {
  const events = Array.from({ length: 201 }, (_, i) => eventOf(String(i)));
  const calls = publishCalls(events);
  expect(calls.map(({ events: { length } }) => length)).toEqual([100, 100, 1]);
  expect(calls.flatMap((call) => call.events).map(textOf)).toEqual(events.map(textOf));
});

test("the events of a call have at most 4 MB, unless a single event has more", () => {
  const megabyte = "x".repeat(1_048_000);
  const calls = publishCalls(
    [megabyte, megabyte, megabyte, megabyte, "a", megabyte.repeat(5), "b"].map(eventOf),
  );
  expect(calls.map((call) => call.events.map((event) => textOf(event).length))).toEqual([
    [1_048_000, 1_048_000, 1_048_000, 1_048_000, 1],
    [5_240_000],
    [1],
  ]);
});

test("without events, there is no call", () => {
  expect(publishCalls([])).toEqual([]);
});
