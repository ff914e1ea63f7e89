import { defaultLifetimeMs, LIFETIME_BY_KIND } from "../../core/domain/lifetime";
import { MESSAGE_KINDS, type MessageKind } from "../../core/domain/outbound-event";

/** Self-paced rounds, games with their own end, icebreakers, digests and schedules. */
const NEVER_STALE = new Set<MessageKind>([
  "async_announcement",
  "async_question",
  "async_results",
  "icebreaker",
  "icebreaker_results",
  "small_talk",
  "kyt_reveal",
  "weekly_digest",
  "anagram",
  "wordgame_start",
  "wordgame_board",
  "wordgame_expired",
  "hangman_board",
  "hangman_end",
  "schedule_creator",
  "schedule_list",
]);

test("every kind has a lifetime", () => {
  expect(Object.keys(LIFETIME_BY_KIND).toSorted()).toEqual(MESSAGE_KINDS.toSorted());
});

// time: controlled
// contract: lifetime-10min, lifetime-never
test.each(MESSAGE_KINDS.map((kind) => [kind, NEVER_STALE.has(kind) ? null : 600_000] as const))(
  "a message of the kind %s expires after %s ms (null: never)",
  (kind, lifetimeMs) => {
    const types = ["message.create", "message.update", "dm.create"] as const;
    expect(types.map((type) => defaultLifetimeMs(type, kind))).toEqual(types.map(() => lifetimeMs));
  },
);

// time: controlled
// contract: lifetime-60s
test.each(MESSAGE_KINDS)("an ephemeral of the kind %s expires after 60 seconds", (kind) => {
  expect(defaultLifetimeMs("message.ephemeral", kind)).toBe(60_000);
});

// time: controlled
// contract: lifetime-60s
test("a ping expires after 60 seconds", () => {
  expect(defaultLifetimeMs("ping", undefined)).toBe(60_000);
});
