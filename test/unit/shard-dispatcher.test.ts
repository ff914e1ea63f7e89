import { createInHand, SHARD_BYTES_MAX, WORKSPACE_BYTES_MAX } from "../../core/delivery/in-hand";
import { createWorkspaceLane } from "../../core/delivery/workspace-lane";
import type { PushOutcome } from "../../core/domain/delivery";
import {
  after,
  OK,
  pass,
  queued,
  queuedMany,
  REFUSED,
  testShard,
  TIMEOUT,
  WORKSPACE,
} from "../harness/test-shard";

const OTHER = "22222222-2222-4333-8444-555555555555";

const shard = testShard();
const ids = (): readonly string[] => shard().attempts.map(({ eventId }) => eventId);
const eventIds = (...numbers: readonly number[]) => numbers.map((number) => `evt_${number}`);
const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

/** Attempts wait for their answer until the test gives it, by event id. */
function answerByHand(): (eventId: string, outcome?: PushOutcome) => Promise<void> {
  const waiting = new Map<string, (outcome: PushOutcome) => void>();
  shard().world.answer = ({ eventId }) => new Promise((resolve) => waiting.set(eventId, resolve));
  return async (eventId, outcome = OK) => {
    waiting.get(eventId)?.(outcome);
    await pass(0);
  };
}

describe("first attempts of a workspace", () => {
  // time: controlled
  test("start in the order of publication, 16 at a time", async () => {
    const answer = answerByHand();
    shard().world.queue = queuedMany(19);
    shard().start();
    await pass(4_000);
    expect(ids()).toEqual(eventIds(...upFrom(1, 16)));
    await answer("evt_6");
    expect(ids().slice(16)).toEqual(["evt_17"]);
    await answer("evt_17");
    await answer("evt_1");
    expect(ids().slice(17)).toEqual(["evt_18", "evt_19"]);
  });

  // time: controlled
  test("are held up by 16 that get no answer until the first of these has failed", async () => {
    shard().world.answer = () => after(5_000, TIMEOUT);
    // They show no message, so that none waits for another's.
    shard().world.queue = queuedMany(17, { isRetried: false, messageId: "" });
    shard().start();
    await pass(60_000);
    expect(shard().times()).toEqual([...Array<number>(16).fill(0), 5_000]);
  });

  // time: controlled
  test("are dropped as overloaded after 10 s in the queue, and not before", async () => {
    // 16 at a time, for 5 s each: lots start at 0 s, 5 s and 10 s.
    shard().world.answer = () => after(5_000, TIMEOUT);
    shard().world.queue = queuedMany(60, { isRetried: false });
    shard().start();
    await pass(10_000);
    expect(shard().attempts).toHaveLength(48);
    const overloaded = () => shard().drops.filter(({ reason }) => reason === "overloaded");
    expect(overloaded()).toEqual([]);
    // The next look at the queue is within a second.
    await pass(1_000);
    expect(overloaded().map(({ eventId }) => eventId)).toEqual(eventIds(...upFrom(49, 12)));
    const drops = shard().recorded.filter(({ delivery }) => delivery?.result === "overloaded");
    expect(drops.map(({ delivery }) => delivery?.attempt)).toEqual(Array(12).fill(0));
    await pass(60_000);
    expect([shard().attempts.length, shard().world.queue]).toEqual([48, []]);
  });

  // time: controlled
  test("are dropped 10 s after their publication, whenever this core reads them", async () => {
    shard().world.answer = () => after(5_000, TIMEOUT);
    shard().world.clockMs = 12_000;
    // Published 11 s, and 8 s ago: of these 16 start at once, and the 17th could at 5 s.
    shard().world.queue = [queued(1_000), ...upFrom(4_001, 17).map((number) => queued(number))];
    shard().start();
    await pass(0);
    expect([ids().length, shard().drops.map(({ eventId }) => eventId)]).toEqual([16, ["evt_1000"]]);
    await pass(2_000);
    expect(shard().drops).toHaveLength(1);
    await pass(1_100);
    expect(shard().drops.slice(1)).toMatchObject([{ eventId: "evt_4017", reason: "overloaded" }]);
  });

  // time: controlled
  test.each([3_600_000, -3_600_000])(
    "wait their 10 s when the service's clock has stepped by %i ms since their publication",
    async (stepMs) => {
      shard().world.answer = () => after(5_000, TIMEOUT);
      shard().world.queue = [];
      shard().start();
      await pass(5_000);
      shard().world.clockMs = stepMs;
      shard().add(...upFrom(5_000, 60).map((number) => queued(number, { isRetried: false })));
      await pass(10_000);
      const overloaded = () => shard().drops.filter(({ reason }) => reason === "overloaded").length;
      expect([ids().length, overloaded()]).toEqual([48, 0]);
      await pass(2_100);
      expect([ids().length, overloaded()]).toEqual([48, 12]);
    },
  );

  test("are dropped as overloaded past 4 MB of one workspace, which retries count for, and not of another", async () => {
    shard().world.answer = () => REFUSED;
    shard().world.queue = queuedMany(20, { bytes: WORKSPACE_BYTES_MAX / 16, messageId: "" });
    shard().world.queue.push(queued(21, { workspaceId: OTHER }));
    shard().start();
    await pass(0);
    expect(ids().toSorted()).toEqual(eventIds(...upFrom(1, 16), 21).toSorted());
    expect(shard().drops.map(({ eventId }) => eventId)).toEqual(eventIds(...upFrom(17, 4)));
  });

  test("are read as far as the bytes in hand leave room, and further as soon as there is room", async () => {
    const answer = answerByHand();
    const bytes = 1024 * 1024;
    const workspaceOf = (number: number) => OTHER.replace(/^../, String(10 + Math.floor(number / 4)));
    const count = SHARD_BYTES_MAX / bytes;
    shard().world.queue = upFrom(1, count + 2).map((number) =>
      queued(number, { bytes, workspaceId: workspaceOf(number) }),
    );
    shard().start();
    await pass(0);
    expect(ids()).toEqual(eventIds(...upFrom(1, count)));
    await pass(2_000);
    expect(ids()).toHaveLength(count);
    await answer("evt_7");
    await pass(0);
    expect(ids().slice(count)).toEqual(eventIds(count + 1));
  });

  test("are dropped as overloaded where 5,000 wait already", async () => {
    answerByHand();
    shard().world.queue = queuedMany(16 + 5_000 + 2);
    shard().start();
    await pass(0);
    expect(shard().drops).toMatchObject([
      { eventId: "evt_5017", reason: "overloaded" },
      { eventId: "evt_5018", reason: "overloaded" },
    ]);
  });

  // time: controlled
  test.each([
    ["succeeds", OK],
    ["fails", REFUSED],
  ])(
    "wait until the earlier one for the same message %s, and so does what is behind them",
    async (_how, outcome) => {
      const answer = answerByHand();
      const update = queued(3, { messageId: "msg_1" });
      shard().world.queue = [queued(1), queued(2), update, queued(4)];
      shard().start();
      await pass(500);
      await answer("evt_2");
      expect(ids()).toEqual(eventIds(1, 2));
      await answer("evt_1", outcome);
      // A retry is not waited for.
      expect(ids()).toEqual(eventIds(1, 2, 3, 4));
    },
  );

  // time: controlled
  test("of one workspace do not wait for those of another in the same shard", async () => {
    shard().world.answer = ({ eventId }) => (Number(eventId.slice(4)) > 100 ? OK : after(5_000, TIMEOUT));
    shard().world.queue = queuedMany(100);
    shard().start();
    await pass(1);
    shard().add(...upFrom(101, 20).map((number) => queued(number, { workspaceId: OTHER })));
    await pass(0);
    expect(ids().slice(16)).toEqual(eventIds(...upFrom(101, 20)));
  });
});

test.each([1, 255, 256, 257, 700])(
  "of %i events each leaves its lane once, in order, and the lane is idle",
  (count) => {
    const lane = createWorkspaceLane();
    const pushes = queuedMany(count, { messageId: "" });
    for (const push of pushes) lane.add(push, 0);
    const started = pushes.map(() => {
      const push = lane.next(0)?.push;
      if (push !== undefined) lane.end(push);
      return push;
    });
    expect([started, lane.next(0), lane.isIdle]).toEqual([pushes, undefined, true]);
  },
);

test("events in hand count by their bytes until they are finished or abandoned, and an abandoned one is not taken again", () => {
  const inHand = createInHand();
  const [a, b] = [queued(1, { bytes: 10 }), queued(2, { bytes: WORKSPACE_BYTES_MAX - 5 })];
  expect([a, b, a].map((push) => inHand.take(push))).toEqual([true, true, false]);
  expect([inHand.bytes, inHand.isOver(WORKSPACE.id)]).toEqual([WORKSPACE_BYTES_MAX + 5, true]);
  inHand.abandon(a);
  expect([inHand.bytes, inHand.isOver(WORKSPACE.id)]).toEqual([b.bytes, false]);
  inHand.finish(b);
  expect([inHand.bytes, inHand.take(a), inHand.take(b)]).toEqual([0, false, true]);
});

// time: controlled
test("an event is not dropped because the store is away when its workspace is to be read", async () => {
  shard().world.workspace = "away";
  shard().start();
  await pass(3_000);
  expect([shard().attempts, shard().recorded, shard().drops]).toEqual([[], [], []]);
  shard().world.workspace = WORKSPACE;
  await pass(500);
  expect([shard().attempts.length, shard().recorded.length, shard().drops]).toEqual([1, 1, []]);
});

test("while the store is away an event is pushed by what was last known of its workspace", async () => {
  shard().world.workspace = "away";
  shard().world.recalled = { ...WORKSPACE, targetUrl: "https://known.example/" };
  shard().start();
  await pass(0);
  expect(shard().attempts).toMatchObject([{ url: "https://known.example/" }]);
});

// time: controlled
test.each([
  ["the one that is remembered", 1, "https://known.example/"],
  ["another one", 2, "https://now.example/"],
])(
  "a workspace whose version beside the event is %s is pushed to by the right record, and read again for a retry",
  async (_which, version, first) => {
    shard().world.answer = () => REFUSED;
    shard().world.versions.set(WORKSPACE.id, version);
    shard().world.recalled = { ...WORKSPACE, targetUrl: "https://known.example/" };
    shard().world.workspace = { ...WORKSPACE, targetUrl: "https://now.example/" };
    shard().start();
    await pass(1_000);
    expect(shard().attempts.map(({ url }) => url)).toEqual([first, "https://now.example/"]);
  },
);

// time: controlled
test("a remembered record that the queue confirmed counts for 50 ms, like one that was read", async () => {
  const hold = answerByHand();
  shard().world.versions.set(WORKSPACE.id, 1);
  shard().world.recalled = { ...WORKSPACE, targetUrl: "https://known.example/" };
  shard().world.workspace = { ...WORKSPACE, targetUrl: "https://now.example/" };
  shard().world.queue = queuedMany(18);
  shard().start();
  await pass(49);
  await hold("evt_1");
  await pass(1);
  await hold("evt_2");
  expect(shard().attempts.map(({ url }) => url)).toEqual([
    ...Array<string>(17).fill("https://known.example/"),
    "https://now.example/",
  ]);
});

test.each([
  ["recorded", []],
  ["polls", ["polls"]],
  ["disconnected", ["disconnected"]],
] as const)("an event to be held that is %s counts as given up: %j", async (held, reasons) => {
  shard().world.workspace = { ...WORKSPACE, targetUrl: "" };
  shard().world.held = held;
  shard().start();
  await pass(0);
  expect(shard().recorded.map(({ next }) => next.do)).toEqual(["hold"]);
  expect(shard().drops.map(({ reason }) => reason)).toEqual(reasons);
});

// time: controlled
test("a store that forgot the lease is asked again until the lease is taken again", async () => {
  shard().world.lease = "forgotten";
  shard().start();
  await pass(1_000);
  expect(shard().attempts).toEqual([]);
  shard().world.lease = "held";
  await pass(200);
  expect(shard().attempts).toHaveLength(1);
});

// time: controlled
test("attempts are made on time while the store is away, and recorded in their order when it is back", async () => {
  shard().world.answer = ({ number }) => (number < 3 ? REFUSED : OK);
  shard().world.recalled = WORKSPACE;
  shard().world.records = "away";
  shard().start();
  await pass(1_100);
  expect([shard().times(), shard().recorded]).toEqual([[0, 1_000], []]);
  shard().world.records = "taken";
  await pass(4_000);
  expect(shard().times()).toEqual([0, 1_000, 4_000]);
  expect(shard().recorded.map(({ delivery, next }) => [delivery?.attempt, next.do])).toEqual([
    [1, "retry"],
    [2, "retry"],
    [3, "done"],
  ]);
});

// time: controlled
test("when the lease is lost, nothing is tried and nothing recorded", async () => {
  shard().world.answer = () => REFUSED;
  shard().world.records = "away";
  shard().start();
  await pass(500);
  shard().lose();
  shard().world.records = "taken";
  await pass(10_000);
  expect([shard().times(), shard().recorded]).toEqual([[0], []]);
});

// time: controlled
test("what a store refused that had forgotten the lease is recorded when the lease is taken again", async () => {
  shard().world.records = "refused";
  shard().start();
  await pass(2_000);
  expect([shard().attempts.length, shard().recorded]).toEqual([1, []]);
  shard().world.records = "taken";
  await pass(1_000);
  expect(shard().recorded.map(({ next }) => next.do)).toEqual(["done"]);
  expect(shard().attempts).toHaveLength(1);
});

// time: controlled
test("entries of a store that took over with a clock behind are found, and none is pushed twice", async () => {
  shard().world.queue = [queued(5)];
  shard().world.answer = ({ eventId, number }) => (eventId === "evt_5" && number === 1 ? REFUSED : OK);
  shard().start();
  await pass(500);
  // It is not there for a moment, and has another entry then, before the one that waits for its retry.
  shard().world.lease = "forgotten";
  await pass(1_500);
  shard().world.lease = "held";
  shard().world.queue.unshift(queued(3));
  await pass(10_000);
  expect(ids()).toEqual(eventIds(5, 5, 3));
  expect(shard().recorded.map(({ push, next }) => `${push.entryId} ${next.do}`)).toEqual([
    "5-0 retry",
    "5-0 done",
    "3-0 done",
  ]);
});

// time: controlled
test("a lease that has run out by the clock is not acted on, though its timer has not fired", async () => {
  shard().world.isOver = true;
  shard().start();
  await pass(2_000);
  expect([shard().attempts, shard().recorded, shard().drops]).toEqual([[], [], []]);
});
