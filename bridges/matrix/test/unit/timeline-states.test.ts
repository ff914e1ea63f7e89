import type { Message } from "chat-bridge-kit";
import { createTimelineStates } from "../../chat/timeline-states";

const state = (text: string): Message => ({
  id: "msg",
  kind: "card",
  text,
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
});
const [Q1, REVEAL, Q2] = [state("question 1"), state("reveal"), state("question 2")];

function setUp() {
  let nowMs = 0;
  const timeline = createTimelineStates(() => nowMs);
  return { ...timeline, after: (ms: number) => (nowMs += ms) };
}

test("an edit takes effect at its position in the timeline", () => {
  const { begin, echoed, at } = setUp();
  begin({ eventId: "$m", txnId: "t1", before: Q1, after: REVEAL });
  begin({ eventId: "$m", txnId: "t2", before: REVEAL, after: Q2 });
  expect(at("$m", Q2)).toBe(Q1);
  echoed("t1");
  expect(at("$m", Q2)).toBe(REVEAL);
  echoed("t2");
  // The kit may not have saved the newest state yet.
  expect(at("$m", REVEAL)).toBe(Q2);
});

test("a message does not exist before its own position in the timeline, even if the sync returns it before the send does", () => {
  const { begin, echoed, at } = setUp();
  begin({ eventId: "$m", txnId: "t1", before: undefined, after: Q1 });
  expect(at("$m", Q1)).toBeUndefined();
  echoed("t1");
  expect(at("$m", Q1)).toBe(Q1);
  echoed("t2");
  begin({ eventId: "$other", txnId: "t2", before: undefined, after: Q2 });
  expect(at("$other", Q2)).toBe(Q2);
});

test("an edit that the homeserver rejected never takes effect, and an unknown message shows its latest state", () => {
  const { begin, failed, at } = setUp();
  begin({ eventId: "$m", txnId: "t1", before: Q1, after: Q2 });
  failed("$m", "t1");
  expect(at("$m", Q1)).toBe(Q1);
  expect(at("$unknown", REVEAL)).toBe(REVEAL);
});

// time: controlled
test("an edit that the sync does not return takes effect after 30 seconds", () => {
  const { begin, at, after } = setUp();
  begin({ eventId: "$m", txnId: "t1", before: Q1, after: REVEAL });
  after(29_000);
  expect(at("$m", REVEAL)).toBe(Q1);
  after(2_000);
  expect(at("$m", REVEAL)).toBe(REVEAL);
});

test("an edit takes effect although the bridge never reads an earlier edit of the message", () => {
  const { begin, echoed, at } = setUp();
  begin({ eventId: "$m", txnId: "t1", before: Q1, after: REVEAL });
  begin({ eventId: "$m", txnId: "t2", before: REVEAL, after: Q2 });
  echoed("t2");
  expect(at("$m", Q2)).toBe(Q2);
});
