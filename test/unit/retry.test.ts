import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { MessageBody, MessageKind as Kind } from "../../core/domain/outbound-event";
import { isRetried, RETRY_OFFSETS_MS } from "../../core/domain/retry";

const body = (kind: Kind): MessageBody => ({
  kind,
  text: "x",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
});
const KINDS = Object.entries(MessageKind).flatMap(([name, code]) =>
  typeof code === "number" && code !== MessageKind.UNSPECIFIED ? [name.toLowerCase() as Kind] : [],
);
const PHASE_STARTS = ["question", "gotcha_bait", "gotcha_reveal", "time_up", "game_end"];

// contract: retry-create, retry-phase
test("retries are 1 s and 4 s after the failure", () => {
  expect(RETRY_OFFSETS_MS).toEqual([1_000, 4_000]);
});

// contract: retry-create, retry-phase, retry-never
test.each(KINDS)("of kind %s, creates are retried; an update is when it starts a phase", (kind) => {
  const message = body(kind);
  expect([
    isRetried({ type: "message.create", channel: "c", message }),
    isRetried({ type: "dm.create", user: "u", message }),
    isRetried({ type: "message.ephemeral", channel: "c", user: "u", message }),
    isRetried({ type: "message.update", channel: "c", messageId: "msg_1", message }),
  ]).toEqual([true, true, true, PHASE_STARTS.includes(kind)]);
});

// contract: retry-never
test("all 32 kinds are in the table, and a ping is never retried", () => {
  expect([KINDS.length, isRetried({ type: "ping" })]).toEqual([32, false]);
});
