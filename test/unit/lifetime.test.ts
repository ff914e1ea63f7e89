import { MESSAGE_KINDS } from "../../contract/messages";
import { defaultLifetimeMs } from "../../core/domain/lifetime";

/**
 * The kinds of messages that never expire: rounds without a time limit, word games, icebreakers, digests and schedules.
 */
const NEVER_STALE =
  "async_announcement async_question async_results icebreaker icebreaker_results small_talk kyt_reveal " +
  "weekly_digest anagram wordgame_start wordgame_board wordgame_expired hangman_board hangman_end " +
  "schedule_creator schedule_list";

// time: controlled
// contract: lifetime-10min, lifetime-never
test.each(
  MESSAGE_KINDS.map((kind) => [kind, NEVER_STALE.split(" ").includes(kind) ? null : 600_000] as const),
)("a message of the kind %s expires after %s ms (null: never)", (kind, lifetimeMs) => {
  const types = ["message.create", "message.update", "dm.create"] as const;
  expect(types.map((type) => defaultLifetimeMs(type, kind))).toEqual(types.map(() => lifetimeMs));
});

// time: controlled
// contract: lifetime-60s
test("an ephemeral message of any kind, and a ping, expire after 60 seconds", () => {
  const lifetimes = MESSAGE_KINDS.map((kind) => defaultLifetimeMs("message.ephemeral", kind));
  expect(new Set([...lifetimes, defaultLifetimeMs("ping", undefined)])).toEqual(new Set([60_000]));
});
