import { assert, integer, nat, property } from "fast-check";
import { account, type Account, type Fact } from "./account";

const AT = { at: 1, workspace: "w" };
const GROUPS = { groups: ["g"] };

const accepted = (request: string): Fact => ({ ...AT, saw: "accepted", request });
const delivered = (request: string, delivery = `d ${request}`, group = "g"): Fact => ({
  ...AT,
  saw: "delivered",
  group,
  request,
  delivery,
});
const published = (sequence: number, way: "push" | "poll" = "poll"): Fact => ({
  ...AT,
  saw: "published",
  key: `k${sequence}`,
  event: `e${sequence}`,
  sequence,
  way,
});
const seen = (sequence: number) => ({ event: `e${sequence}`, key: `k${sequence}`, sequence });
const served = (after: number, next: number, ...sequences: readonly number[]): Fact => ({
  ...AT,
  saw: "served",
  after,
  next,
  gap: false,
  events: sequences.map(seen),
});
const pushed = (sequence: number, ok = true): Fact => ({ ...AT, saw: "pushed", ok, ...seen(sequence) });
const dropped = (sequence: number, reason: string): Fact => ({
  ...AT,
  saw: "dropped",
  event: `e${sequence}`,
  reason,
});

const what = ({ lost }: Account): readonly string[] => lost.map((each) => each.what);
const isSound = ({ lost, duplicated, wrong }: Account): boolean =>
  lost.length + duplicated.length + wrong.length === 0;

test("an account in which all came adds up", () => {
  const facts = [
    accepted("r1"),
    delivered("r1"),
    accepted("r2"),
    delivered("r2"),
    published(1),
    published(2),
    published(3, "push"),
    served(0, 2, 1, 2),
    pushed(3),
  ];
  expect(account(facts, GROUPS)).toEqual({
    accepted: 2,
    delivered: 2,
    published: 3,
    served: 2,
    pushed: 1,
    dropped: {},
    again: 0,
    duplicated: [],
    lost: [],
    wrong: [],
  });
});

describe("it notices as lost", () => {
  test.each<[string, readonly Fact[], string]>([
    ["a request that nobody got", [accepted("r")], "request w r"],
    ["a request that another group got", [accepted("r"), delivered("r", "d", "other")], "request w r"],
    ["an event that was never polled", [published(1)], "e1 (k1)"],
    ["an event that was never pushed", [published(1, "push")], "e1 (k1)"],
    [
      "an event whose every attempt failed, without a drop",
      [published(1, "push"), pushed(1, false)],
      "e1 (k1)",
    ],
    ["a held event that was pushed instead", [published(1), pushed(1)], "e1 (k1)"],
  ])("%s", (_what, facts, lost) => {
    expect(what(account(facts, GROUPS))).toEqual([lost]);
  });

  test("when it was answered, for what may be lost by then", () => {
    expect(account([{ ...accepted("r"), at: 7 }], GROUPS).lost).toEqual([{ what: "request w r", at: 7 }]);
  });
});

describe("it notices as duplicated", () => {
  test.each<[string, readonly Fact[]]>([
    ["a request under two delivery ids", [accepted("r"), delivered("r", "d1"), delivered("r", "d2")]],
    ["an event that two pages served", [published(1), served(0, 1, 1), served(0, 1, 1)]],
    [
      "a publication under two event ids",
      [
        published(1),
        published(2),
        served(0, 2, 1),
        { ...served(1, 2), events: [{ ...seen(2), key: "k1" }] } as Fact,
      ],
    ],
  ])("%s", (_what, facts) => {
    expect(account(facts, GROUPS).duplicated).toHaveLength(1);
  });

  test("nothing that came again under its own id, which it counts", () => {
    const facts = [accepted("r"), delivered("r"), delivered("r"), published(1, "push"), pushed(1), pushed(1)];
    const became = account(facts, GROUPS);
    expect([isSound(became), became.again]).toEqual([true, 2]);
  });
});

describe("it notices as wrong", () => {
  test.each<[string, readonly Fact[], RegExp]>([
    [
      "a cursor that skipped an event",
      [published(1), published(2), served(0, 2, 2), served(2, 2)],
      /skipped e1 at 1/,
    ],
    ["a cursor that skipped an event with an empty page", [published(1), served(0, 1)], /skipped e1/],
    ["a cursor that fell", [published(1), served(0, 1, 1), served(1, 0)], /the cursor fell to 0/],
    ["a gap", [{ ...served(3, 3), gap: true } as Fact], /a gap after 3/],
    [
      "a sequence that fell from one publication to the next",
      [published(2), published(1), served(0, 2, 1, 2)],
      /e1 was published as 1 after 2/,
    ],
    [
      "a sequence that fell within a page",
      [published(1), published(2), served(0, 2, 2, 1)],
      /e1 was served as 1 after 2/,
    ],
    [
      "a sequence that changed on the way",
      [{ ...published(1), sequence: 5 } as Fact, served(0, 5, 1)],
      /came as 1/,
    ],
    ["an event that nobody published", [pushed(1)], /never answered as published/],
    ["a request that nobody had accepted", [delivered("r")], /never accepted/],
    [
      "requests of a workspace that came in another order",
      [accepted("r1"), accepted("r2"), delivered("r2"), delivered("r1")],
      /r1 was delivered out of order/,
    ],
    ["a drop that is not allowed", [published(1, "push"), dropped(1, "overloaded")], /dropped as overloaded/],
    ["an answer that was wrong", [{ ...AT, saw: "wrong", what: "it was answered 500" }], /500/],
  ])("%s", (_what, facts, words) => {
    const { wrong } = account(facts, GROUPS);
    expect(wrong.some((each) => words.test(each))).toBe(true);
  });
});

test("a drop that is allowed is counted by its reason, unless the bridge had taken the event", () => {
  const facts = [
    published(1, "push"),
    pushed(1, false),
    dropped(1, "failed"),
    published(2, "push"),
    pushed(2),
    dropped(2, "failed"),
  ];
  const became = account(facts, { ...GROUPS, drops: ["failed"] });
  expect([isSound(became), became.pushed, became.dropped]).toEqual([true, 1, { failed: 1 }]);
});

test("whatever single fact is left out of a sound account, the loss is noticed", () => {
  const count = integer({ min: 1, max: 12 });
  assert(
    property(count, count, count, nat(), (requests, polls, pushes, place) => {
      const arrived: Fact[] = [];
      for (let i = 1; i <= requests; i++) arrived.push(delivered(`r${i}`));
      for (let i = 1; i <= polls; i++) arrived.push(served(i - 1, i, i));
      for (let i = 1; i <= pushes; i++) arrived.push(pushed(polls + i));
      const sent: Fact[] = [];
      for (let i = 1; i <= requests; i++) sent.push(accepted(`r${i}`));
      for (let i = 1; i <= polls + pushes; i++) sent.push(published(i, i <= polls ? "poll" : "push"));
      expect(isSound(account([...sent, ...arrived], GROUPS))).toBe(true);
      const left = arrived.toSpliced(place % arrived.length, 1);
      expect(account([...sent, ...left], GROUPS).lost).toHaveLength(1);
    }),
  );
});
