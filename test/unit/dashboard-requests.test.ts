import * as fc from "fast-check";
import { refusalWords } from "../../contract/request-words";
import { isRefusal, REFUSAL_STATUS, REQUEST_KINDS, SIGNATURE_CAUSES } from "../../contract/requests";
import { nextSteps } from "../../dashboard/words/next-steps";
import { blockingRefusal, requestSums } from "../../dashboard/words/request-rows";
import type { HealthShape, RefusedShape } from "../../proto/json/shapes";
import { forAll } from "../harness/for-all";

const AT = "2026-01-01T00:00:00.000Z";
const refused = (fields: Partial<RefusedShape> = {}): RefusedShape => ({
  kind: "invalid",
  at: AT,
  method: "POST",
  address: "192.0.2.1",
  field: null,
  message: "channel is required",
  clockSeconds: 0,
  bytes: 0,
  cause: null,
  signedText: "",
  missingKey: "",
  ...fields,
});
const REFUSALS = REQUEST_KINDS.filter(isRefusal);
const counts = fc.dictionary(fc.constantFrom(...REQUEST_KINDS), fc.nat(1_000));
const samples = fc.array(
  fc.record({ kind: fc.constantFrom(...REFUSALS), second: fc.integer({ min: 10, max: 59 }) }),
);

test("the totals include each counted request and each sample once, and the first row is that of the newest sample", () => {
  forAll(counts, samples, (counted, found) => {
    const refusals = found
      .map(({ kind, second }) => refused({ kind, at: `2026-01-01T00:00:${second}.000Z` }))
      .toSorted((one, other) => other.at.localeCompare(one.at));
    const { accepted, refused: sum, rows } = requestSums({ counts: counted, refusals });
    const total = Object.entries(counted).reduce(
      (all, [kind, count]) => all + (kind.startsWith("push") && kind !== "push-workspace" ? 0 : count),
      0,
    );
    expect(accepted + sum).toBe(total);
    expect(rows.flatMap((row) => row.samples)).toHaveLength(refusals.length);
    expect(new Set(rows.map(({ status }) => status)).size).toBe(rows.length);
    for (const { status, samples: own } of rows) {
      expect(own.every(({ kind }) => REFUSAL_STATUS[kind] === status)).toBe(true);
    }
    if (refusals[0] !== undefined) expect(rows[0]?.samples[0]?.at).toBe(refusals[0].at);
  });
});

test("every reason consists of sentences of at most 30 words that end with a full stop", () => {
  const all = [
    ...REFUSALS.map((kind) => refused({ kind, bytes: 70_000, clockSeconds: -3_960 })),
    ...SIGNATURE_CAUSES.map((cause) => refused({ kind: "signature", cause })),
    refused({ kind: "timestamp", clockSeconds: 1.7e12 }),
  ];
  for (const each of all) {
    const { reason, fix } = refusalWords(each);
    for (const text of [reason, fix]) {
      expect(text).toMatch(/^[A-Za-z].*[.?]$/);
      expect(text.split(" ").length).toBeLessThanOrEqual(30);
    }
  }
  expect(refusalWords(refused({ message: "a\u202eb is not a known field" })).reason).not.toContain("\u202e");
});

test("if a field is missing or unknown, the dashboard says whether to add, remove or correct the field", () => {
  const fixOf = (message: string): string => refusalWords(refused({ message })).fix;
  expect(fixOf("channel is required")).toBe("Add channel to the body.");
  expect(fixOf("user.id is required")).toBe("Add user.id to the body.");
  expect(fixOf("a\u202eb is not a known field")).toBe("Remove the field, or correct its name.");
  expect(fixOf("limt is not a known parameter")).toBe("Remove the parameter, or correct its name.");
  forAll(fc.string(), (name) => {
    expect(fixOf(`${name} is required is not a known field`)).toBe("Remove the field, or correct its name.");
    expect(fixOf(`${name} must not be empty`)).toBe("Change the request; a retry gets the same answer.");
  });
});

test("a refused signed request does not complete the request step of a new bridge; an accepted request does", () => {
  const health = { mode: "poll", lastPollAt: null, firstPostAt: AT } as HealthShape;
  const ticks = { stored: false, checked: false };
  const isDone = (requests?: Parameters<typeof nextSteps>[2]): boolean | undefined =>
    nextSteps(health, ticks, requests).find(({ is }) => is === "request")?.done;
  const late = refused({ kind: "too-large", at: "2026-01-01T00:00:09.000Z" });
  expect(isDone()).toBe(true);
  expect(isDone({ counts: { invalid: 1 }, refusals: [late, refused()] })).toBe(false);
  expect(isDone({ counts: { invalid: 1, post: 1 }, refusals: [refused()] })).toBe(true);
  // The first request arrived long before the refused one, so it may have been accepted.
  expect(isDone({ counts: { invalid: 1 }, refusals: [refused({ at: "2026-01-01T05:00:00.000Z" })] })).toBe(
    true,
  );
  expect(blockingRefusal({ counts: { poll: 1 }, refusals: [late] })).toBeUndefined();
  expect(blockingRefusal({ counts: {}, refusals: [late] })).toBe(late);
});
