import { pollState, pushState, type PollFacts, type PushFact } from "../../core/domain/health-state";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const NEVER: PollFacts = {
  failingSinceMs: undefined,
  lastPollAtMs: undefined,
  recoveredAtMs: undefined,
  waiting: 0,
};

// time: controlled
test.each<[string, Partial<PollFacts>, string]>([
  ["the bridge has never polled", {}, "unused"],
  ["the bridge has never polled, while events wait", { waiting: 1 }, "unused"],
  ["events have waited too long", { failingSinceMs: NOW - 1, waiting: 1 }, "failing"],
  ["the bridge polled a minute ago", { lastPollAtMs: NOW - MINUTE, waiting: 1 }, "healthy"],
  ["the last poll is too old", { lastPollAtMs: NOW - MINUTE - 1 }, "idle"],
  ["the last poll is too old, and events wait", { lastPollAtMs: NOW - MINUTE - 1, waiting: 1 }, "degraded"],
  [
    "an outage ended less than an hour ago",
    { lastPollAtMs: NOW, recoveredAtMs: NOW - HOUR + 1 },
    "recovered",
  ],
  ["an outage ended an hour ago", { lastPollAtMs: NOW, recoveredAtMs: NOW - HOUR }, "healthy"],
  [
    "the bridge stopped polling again after an outage",
    { lastPollAtMs: NOW - HOUR, recoveredAtMs: NOW - HOUR + 1, waiting: 1 },
    "degraded",
  ],
])("a poll workspace, when %s: %j is %s", (_when, facts, state) => {
  expect(pollState({ ...NEVER, ...facts }, NOW)).toBe(state);
});

/**
 * Returns the facts for a string such as "5m failed, 1m accepted", which lists the facts from the oldest to the newest.
 */
function factsOf(text: string): readonly PushFact[] {
  const facts = text.split(", ").filter((each) => each !== "");
  return facts.toReversed().map((each) => {
    const [minutes = "", is = ""] = each.split("m ");
    return { is: is as PushFact["is"], atMs: NOW - Number(minutes) * MINUTE };
  });
}

// time: controlled
test.each([
  ["", "unused", undefined],
  ["1m overloaded", "unused", undefined],
  ["90m accepted", "healthy", undefined],
  ["9m accepted, 1m failed", "failing", undefined],
  ["9m failed, 8m accepted, 1m failed", "failing", undefined],
  ["9m failed", "failing", undefined],
  ["15m failed, 14m failed, 13m accepted, 1m accepted", "recovered", 13],
  ["1m failed, 0m accepted", "recovered", 0],
  ["70m failed, 60m accepted", "healthy", 60],
  ["70m failed, 59m accepted", "recovered", 59],
  // A bridge that fails again within minutes has not recovered.
  ["4m failed, 3m accepted, 2m failed, 1m accepted", "degraded", 1],
  ["6m failed, 3m accepted, 2m failed, 1m accepted", "recovered", 1],
  ["4m failed, 3m failed, 1m accepted", "recovered", 1],
  // The bridge accepts pushes, but takes too long to answer.
  ["2m accepted, 1m overloaded, 1m accepted", "degraded", undefined],
  ["8m accepted, 6m overloaded, 1m accepted", "healthy", undefined],
  ["4m overloaded, 3m failed, 2m accepted", "recovered", 2],
] as const)("a push workspace with the log [%s] is %s", (text, state, recoveredMinutes) => {
  const recoveredAtMs = recoveredMinutes === undefined ? undefined : NOW - recoveredMinutes * MINUTE;
  expect(pushState(factsOf(text), NOW)).toEqual({ state, recoveredAtMs });
});
