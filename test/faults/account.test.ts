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

const isSound = ({ lost, duplicated, wrong }: Account) =>
  lost.length + duplicated.length + wrong.length === 0;

test("if every request and event arrived, the account counts all of them and reports no violation", () => {
  const inbound = [accepted("r1"), delivered("r1"), accepted("r2"), delivered("r2")];
  const outbound = [published(1), published(2), published(3, "push"), served(0, 2, 1, 2), pushed(3)];
  expect(account([...inbound, ...outbound], GROUPS)).toEqual({
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

const [e1, e2] = [published(1), published(2)];

/** Accounts for `facts`. Returns each violation as `<field of the account>: <violation>`. */
function findingsOf(facts: readonly Fact[]): readonly string[] {
  const { lost, duplicated, wrong } = account(facts, GROUPS);
  const named = { lost: lost.map(({ what }) => what), duplicated, wrong };
  return Object.entries(named).flatMap(([column, all]) => all.map((what) => `${column}: ${what}`));
}

test.each<[string, readonly Fact[], readonly string[]]>([
  ["a request that was never delivered", [accepted("r")], ["lost: request w r"]],
  [
    "a request delivered only to another group",
    [accepted("r"), delivered("r", "d", "other")],
    ["lost: request w r"],
  ],
  ["an event that was never polled", [published(1)], ["lost: e1 (k1)"]],
  ["an event that was never pushed", [published(1, "push")], ["lost: e1 (k1)"]],
  [
    "an event that was neither accepted by the bridge nor dropped",
    [published(1, "push"), pushed(1, false)],
    ["lost: e1 (k1)"],
  ],
  ["a held event that was pushed instead of served", [published(1), pushed(1)], ["lost: e1 (k1)"]],
  [
    "a request that was delivered under two delivery ids",
    [accepted("r"), delivered("r", "d1"), delivered("r", "d2")],
    ["duplicated: request g w r was delivered as d1 and d2"],
  ],
  ["an event served twice", [e1, served(0, 1, 1), served(0, 1, 1)], ["duplicated: e1 was served twice"]],
  [
    "a publication that arrived under two event ids",
    [published(1, "push"), published(2, "push"), pushed(1), { ...pushed(2), key: "k1" } as Fact],
    ["duplicated: k1 arrived as e1 and e2"],
  ],
  [
    "a cursor that skipped an event",
    [e1, e2, served(0, 2, 2)],
    ["lost: e1 (k1)", "wrong: the cursor went from 0 to 2 and skipped e1 with sequence 1"],
  ],
  [
    "an empty page that moved the cursor past an event",
    [published(1), served(0, 1)],
    ["lost: e1 (k1)", "wrong: the cursor went from 0 to 1 and skipped e1 with sequence 1"],
  ],
  [
    "a cursor that went back",
    [e1, served(0, 1, 1), served(1, 0)],
    ["wrong: the cursor went back to 0 after 1"],
  ],
  ["a gap", [{ ...served(3, 3), gap: true } as Fact], ["wrong: the page after cursor 3 has a gap"]],
  [
    "a published sequence that went back",
    [e2, e1, served(0, 2, 1, 2)],
    ["wrong: e1 was published with sequence 1 after 2"],
  ],
  [
    "a served sequence that went back",
    [e1, e2, served(0, 2, 2, 1)],
    ["wrong: e1 was served with sequence 1 after 2"],
  ],
  [
    "a sequence that changed after publication",
    [{ ...published(1), sequence: 5 } as Fact, served(0, 5, 1)],
    ["wrong: e1 was published with sequence 5 and arrived with 1"],
  ],
  ["an event that was never published", [pushed(1)], ["wrong: e1 arrived, but no publish call returned it"]],
  ["a request that was never accepted", [delivered("r")], ["wrong: w r was delivered but never accepted"]],
  [
    "requests of a workspace that were delivered out of order",
    [accepted("r1"), accepted("r2"), delivered("r2"), delivered("r1")],
    ["wrong: g w r1 was delivered out of order"],
  ],
  [
    "a drop that is not allowed",
    [published(1, "push"), dropped(1, "overloaded")],
    ["wrong: e1 was dropped as overloaded, which this fault does not allow"],
  ],
  ["an invalid answer", [{ ...AT, saw: "wrong", what: "answered with 500" }], ["wrong: answered with 500"]],
])("the account reports %s, and nothing else", (_what, facts, findings) => {
  expect(findingsOf(facts)).toEqual(findings);
});

test("the account says when a lost request was accepted, and counts repeats with the same id without reporting them", () => {
  expect(account([{ ...accepted("r"), at: 7 }], GROUPS).lost).toEqual([{ what: "request w r", at: 7 }]);
  const facts = [accepted("r"), delivered("r"), delivered("r"), published(1, "push"), pushed(1), pushed(1)];
  const became = account(facts, GROUPS);
  expect([isSound(became), became.again]).toEqual([true, 2]);
});

test("an allowed drop is counted under its reason, unless the bridge had accepted the event", () => {
  const lost = [published(1, "push"), pushed(1, false), dropped(1, "failed")];
  const taken = [published(2, "push"), pushed(2), dropped(2, "failed")];
  const became = account([...lost, ...taken], { ...GROUPS, drops: ["failed"] });
  expect([isSound(became), became.pushed, became.dropped]).toEqual([true, 1, { failed: 1 }]);
});

test("if exactly one request or event did not arrive, the account reports one loss", () => {
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
