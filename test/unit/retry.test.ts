import { FAILURES } from "../../contract/deliveries";
import { type PushOutcome } from "../../core/domain/delivery";
import { isPushRetried, type MessageKind as Kind } from "../../contract/messages";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { after, OK, pass, queued, REFUSED, TIMEOUT, testShard, WORKSPACE } from "../harness/test-shard";

const KINDS = Object.entries(MessageKind).flatMap(([name, code]) =>
  typeof code === "number" && code !== MessageKind.UNSPECIFIED ? [name.toLowerCase() as Kind] : [],
);
const PHASE_STARTS = ["question", "gotcha_bait", "gotcha_reveal", "time_up", "game_end"];

// contract: retry-create, retry-phase, retry-never
test.each(KINDS)(
  "new messages and ephemeral messages of the kind %s are retried; updates are retried only if the kind starts a phase",
  (kind) => {
    const types = ["message.create", "dm.create", "message.ephemeral", "message.update"] as const;
    const message = { kind };
    expect(types.map((type) => isPushRetried({ type, message }))).toEqual([
      true,
      true,
      true,
      PHASE_STARTS.includes(kind),
    ]);
  },
);

// contract: retry-never
test("there are 32 kinds of messages, and a ping is never retried", () => {
  expect([KINDS.length, isPushRetried({ type: "ping" })]).toEqual([32, false]);
});

/** The delay of the shortest timer, in ms. */
const SOON = 1;

const shard = testShard();

type Answer = () => PushOutcome | Promise<PushOutcome>;
const refused: Answer = () => REFUSED;
const accepted: Answer = () => OK;
const unanswered: Answer = () => after(5_000, TIMEOUT);
const within =
  (ms: number, outcome: PushOutcome): Answer =>
  () =>
    after(ms, outcome);

/** Answers the attempts of each event with `answers`, in this order, and rejects further attempts. */
function answerWith(answers: readonly Answer[]): void {
  shard().world.answer = ({ number }) => (answers[number - 1] ?? refused)();
}

/**
 * Starts a new holder of the shard's lease. The bridge gives these answers to the attempts of the new holder. Returns
 * the times of the attempts within a minute, in ms.
 */
async function attemptTimes(...answers: readonly Answer[]): Promise<readonly number[]> {
  answerWith(answers);
  await shard().run(60_000);
  return shard().times();
}

// time: controlled
// contract: retry-create, retry-phase
test.each<readonly [name: string, answers: readonly Answer[], starts: readonly number[]]>([
  ["an event that is rejected three times is dropped", [refused, refused, refused], [0, 1_000, 4_000]],
  ["an event that is accepted at the second attempt gets no third attempt", [refused, accepted], [0, 1_000]],
  [
    "an event that is accepted at the third attempt is not dropped",
    [refused, refused, accepted],
    [0, 1_000, 4_000],
  ],
  [
    "an event that is rejected after 2 s is retried 1 s and 4 s after the rejection",
    [within(2_000, REFUSED)],
    [0, 3_000, 6_000],
  ],
  ["an event that gets no answer is retried 1 s and 4 s after the deadline", [unanswered], [0, 6_000, 9_000]],
  [
    "if the second attempt is still in progress 4 s after the first failure, the third attempt starts when the second fails",
    [refused, within(4_000, REFUSED)],
    [0, 1_000, 5_000 + SOON],
  ],
  [
    "if the second attempt gets no answer, the third attempt starts at the deadline of the second",
    [refused, unanswered],
    [0, 1_000, 6_000 + SOON],
  ],
])("%s", async (_name, answers, starts) => {
  expect(await attemptTimes(...answers)).toEqual(starts);
  const isFailed = answers[starts.length - 1] !== accepted;
  expect(shard().drops.map(({ reason }) => reason)).toEqual(isFailed ? ["failed"] : []);
  expect(shard().recorded.map(({ delivery, next }) => [delivery?.attempt, next.do])).toEqual(
    starts.map((_, i) => [i + 1, i === starts.length - 1 ? (isFailed ? "keep" : "done") : "retry"]),
  );
});

// time: controlled
test.each(FAILURES)("an event whose attempt failed with %s is retried", async (failure) => {
  expect(await attemptTimes(() => ({ ...REFUSED, failure }), accepted)).toEqual([0, 1_000]);
});

// time: controlled
// contract: retry-never
test("an event that is never retried is dropped when its first attempt fails", async () => {
  shard().world.queue = [queued(1, { isRetried: false })];
  expect(await attemptTimes(refused)).toEqual([0]);
  expect(shard().drops).toEqual([{ eventId: "evt_1", reason: "failed", atMs: 0 }]);
});

// time: controlled
test.each([
  ["its workspace is disconnected", "disconnected", { workspace: { ...WORKSPACE, connected: false } }],
  ["its workspace is deleted", "disconnected", { workspace: "gone" as const }],
  ["its workspace is switched to polling", "polls", { workspace: { ...WORKSPACE, targetUrl: "" } }],
  ["it has expired", "expired", { clockMs: 600_000 }],
])("an event is not retried once %s", async (_when, reason, change) => {
  answerWith([refused]);
  await shard().run(2_500, { queue: [queued(1, { expiresAtMs: 600_000 })] });
  await shard().wait(60_000, change);
  expect([shard().times(), shard().drops]).toEqual([[0, 1_000], [{ eventId: "evt_1", reason, atMs: 4_000 }]]);
  const last = shard().recorded.at(-1);
  expect(last).toMatchObject({ delivery: { result: reason, attempt: 2 }, next: { do: "done" } });
});

// time: controlled
test.each([
  [999, [0]],
  [1_000, [0]],
  [1_001, [0, 1_000]],
  [4_000, [0, 1_000]],
  [4_001, [0, 1_000, 4_000]],
])("if an event expires after %i ms, its attempts start at %j ms", async (expiresAtMs, starts) => {
  shard().world.queue = [queued(1, { expiresAtMs })];
  expect(await attemptTimes(refused)).toEqual(starts);
});

// time: controlled
test.each([
  [700, [0, 1_000, 4_000]],
  [3_200, [0, 3_200, 4_000]],
  [9_000, [0, 9_000, 9_000 + SOON]],
])(
  "a core that takes over at %i ms schedules retries relative to the recorded first failure; attempts start at %j ms",
  async (takenMs, starts) => {
    answerWith([refused]);
    await shard().run(500);
    shard().lose();
    await pass(takenMs - 500);
    expect(await attemptTimes(refused)).toEqual(starts);
    expect(shard().recorded.map(({ delivery }) => delivery?.attempt)).toEqual([1, 2, 3]);
  },
);

// time: controlled
test("if a core loses a shard during an attempt, the next core repeats the attempt", async () => {
  answerWith([unanswered, refused, refused, refused]);
  await shard().run(500);
  shard().lose();
  await pass(2_500);
  await shard().run(60_000);
  expect(shard().times()).toEqual([0, 3_000, 4_000, 7_000]);
  expect(shard().recorded.map(({ delivery }) => delivery?.attempt)).toEqual([1, 2, 3]);
});

// time: controlled
// contract: retry-create
test("a jump of the service clock does not change the times of retries", async () => {
  answerWith([refused]);
  shard().start();
  for (const stepMs of [10_000, -60_000]) {
    await pass(500);
    shard().world.clockMs += stepMs;
  }
  await pass(60_000);
  expect(shard().times()).toEqual([0, 1_000, 4_000]);
});
