import * as fc from "fast-check";
import { LaneFault, LaneResponse, Refusal, type LaneAnswer } from "../../proto/gen/chatbridge/v1/bridge";
import { LANE_METHOD, type PageAnswer } from "../../proto/lane-method";

const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const page: fc.Arbitrary<PageAnswer> = fc.record({
  number,
  page: fc.record({
    // Some of them larger than what a message is first written into.
    body: fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom(16_500, 150_000).map((bytes) => new Uint8Array(bytes).fill(7)),
      ),
      { maxLength: 5 },
    ),
    signature: fc.string({ unit: "grapheme" }),
    workspaceId: fc.string(),
  }),
});
const refused = { refusal: Refusal.WORKSPACE_LIMIT, violation: undefined, retryAfterSeconds: 3 };
const other: fc.Arbitrary<LaneAnswer> = fc.record({
  number,
  answer: fc.constantFrom<LaneAnswer["answer"]>(
    { $case: "fault", value: LaneFault.UNAVAILABLE },
    { $case: "receive", value: { outcome: { $case: "accepted", value: { repeated: true } } } },
    { $case: "poll", value: { outcome: { $case: "refused", value: refused } } },
  ),
});

function asGenerated(answer: LaneAnswer | PageAnswer): LaneAnswer {
  if (!("page" in answer)) return answer;
  const value = { ...answer.page, body: Buffer.concat(answer.page.body) };
  return { number: answer.number, answer: { $case: "poll", value: { outcome: { $case: "page", value } } } };
}

test("core's answers are read as those that the generated code writes", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(page, other), { maxLength: 8 }), (answers) => {
      const expected = Buffer.from(LaneResponse.encode({ answers: answers.map(asGenerated) }).finish());
      // Read at once, as what is written is written over by the next; written again, as zeroes may be left out.
      const read = LaneResponse.decode(LANE_METHOD.responseSerialize({ answers }));
      expect(expected.equals(LaneResponse.encode(read).finish())).toBe(true);
    }),
  );
});
