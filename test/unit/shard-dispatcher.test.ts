import { createInHand, SHARD_BYTES_MAX, WORKSPACE_BYTES_MAX } from "../../core/delivery/shard-queue";
import { RETRIES_MAX, WAIT_MAX_MS } from "../../core/delivery/turns";
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

/** The cached record of the workspace, and the record that the store contains now. */
const KNOWN = { ...WORKSPACE, targetUrl: "https://known.example/" };
const NOW = { ...WORKSPACE, targetUrl: "https://now.example/" };
const OTHER = "22222222-2222-4333-8444-555555555555";

const shard = testShard();
const ids = (): readonly string[] => shard().attempts.map(({ eventId }) => eventId);
const eventIds = (...numbers: readonly number[]) => numbers.map((number) => `evt_${number}`);
const upFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

const unanswered = () => after(5_000, TIMEOUT);

/** Makes attempts wait for their answers; returns a function that answers the attempt for one event. */
function answerByHand(): (eventId: string, outcome?: PushOutcome) => Promise<void> {
  const waiting = new Map<string, (outcome: PushOutcome) => void>();
  shard().world.answer = ({ eventId }) => new Promise((resolve) => waiting.set(eventId, resolve));
  return async (eventId, outcome = OK) => {
    waiting.get(eventId)?.(outcome);
    await pass(0);
  };
}

// time: controlled
describe("new pushes of a workspace", () => {
  test("new pushes start in the order of publication, 16 at a time", async () => {
    const answer = answerByHand();
    await shard().run(4_000, { queue: queuedMany(19) });
    expect(ids()).toEqual(eventIds(...upFrom(1, 16)));
    await answer("evt_6");
    expect(ids().slice(16)).toEqual(["evt_17"]);
    await answer("evt_17");
    await answer("evt_1");
    expect(ids().slice(17)).toEqual(["evt_18", "evt_19"]);
  });

  test("new pushes are dropped as overloaded after 10 s in the queue, and not before", async () => {
    // Each attempt takes 5 s, so 16 attempts start at 0 s, 16 at 5 s and 16 at 10 s.
    await shard().run(10_000, { answer: unanswered, queue: queuedMany(60, { isRetried: false }) });
    expect(shard().attempts).toHaveLength(48);
    const overloaded = () => shard().drops.filter(({ reason }) => reason === "overloaded");
    expect(overloaded()).toEqual([]);
    // The dispatcher looks at the queue again within a second.
    await pass(1_000);
    expect(overloaded().map(({ eventId }) => eventId)).toEqual(eventIds(...upFrom(49, 12)));
    const drops = shard().recorded.filter(({ delivery }) => delivery?.result === "overloaded");
    expect(drops.map(({ next }) => next.do)).toEqual(Array(12).fill("keep"));
    expect(drops.map(({ delivery }) => delivery?.attempt)).toEqual(Array(12).fill(0));
    await pass(60_000);
    expect([shard().attempts.length, shard().world.queue]).toEqual([48, []]);
  });

  test("new pushes are dropped if they cannot start within 10 s of publication, even if core reads the events late", async () => {
    // One event is 11 s old, and 17 events are 8 s old. Sixteen of the 17 start immediately. The last event could start
    // only 5 s later, which is too late.
    const queue = [queued(1_000), ...upFrom(4_001, 17).map((number) => queued(number))];
    await shard().run(0, { answer: unanswered, clockMs: 12_000, queue });
    expect([ids().length, shard().drops]).toMatchObject([16, [{ eventId: "evt_1000", reason: "outage" }]]);
    await pass(2_000);
    expect(shard().drops).toHaveLength(1);
    await pass(1_100);
    expect(shard().drops.slice(1)).toMatchObject([{ eventId: "evt_4017", reason: "overloaded" }]);
  });

  test.each(["away", "forgotten"] as const)(
    "new pushes are dropped because of an outage, and kept as failed events, if core could not read the queue in time: %s",
    async (fault) => {
      await shard().run(0, { queue: [] });
      shard().world.lease = fault;
      await pass(1_000);
      shard().add(queued(1_000));
      await pass(11_000);
      shard().world.lease = "held";
      shard().add(queued(12_000));
      await pass(2_000);
      expect(shard().drops).toMatchObject([{ eventId: "evt_1000", reason: "outage" }]);
      expect(shard().recorded.map(({ push, next }) => [push.eventId, next.do])).toEqual([
        ["evt_1000", "keep"],
        ["evt_12000", "done"],
      ]);
    },
  );

  test("new pushes are dropped as overloaded if the queue was unreadable for only a short part of the 10 s", async () => {
    await shard().run(5_000, { answer: unanswered, queue: queuedMany(60, { isRetried: false }) });
    shard().world.lease = "away";
    await pass(1_500);
    shard().world.lease = "held";
    await pass(6_000);
    const late = shard().drops.filter(({ reason }) => reason !== "failed");
    expect(late.map(({ reason }) => reason)).toEqual(Array(12).fill("overloaded"));
  });

  test.each([3_600_000, -3_600_000])(
    "new pushes wait up to 10 s, even if the clock steps by %i ms",
    async (stepMs) => {
      await shard().run(5_000, { answer: unanswered, queue: [] });
      shard().world.clockMs = stepMs;
      shard().add(...upFrom(5_000, 60).map((number) => queued(number, { isRetried: false })));
      await pass(10_000);
      const overloaded = () => shard().drops.filter(({ reason }) => reason === "overloaded").length;
      expect([ids().length, overloaded()]).toEqual([48, 0]);
      await pass(2_100);
      expect([ids().length, overloaded()]).toEqual([48, 12]);
    },
  );

  test("new pushes are dropped as overloaded if their workspace has over 4 MB of events in memory, including retries; other workspaces are unaffected", async () => {
    const queue = queuedMany(20, { bytes: WORKSPACE_BYTES_MAX / 16, messageId: "" });
    queue.push(queued(21, { workspaceId: OTHER }));
    await shard().run(0, { answer: () => REFUSED, queue });
    expect(ids().toSorted()).toEqual(eventIds(...upFrom(1, 16), 21).toSorted());
    expect(shard().drops.map(({ eventId }) => eventId)).toEqual(eventIds(...upFrom(17, 4)));
  });

  test("new pushes stay in the store's queue while the events in memory are at the limit in bytes, and start as soon as there is room", async () => {
    const answer = answerByHand();
    const bytes = 1024 * 1024;
    const workspaceOf = (number: number) => OTHER.replace(/^../, String(10 + Math.floor(number / 4)));
    const count = SHARD_BYTES_MAX / bytes;
    shard().world.queue = upFrom(1, count + 2).map((number) =>
      queued(number, { bytes, workspaceId: workspaceOf(number) }),
    );
    await shard().run(0);
    expect(ids()).toEqual(eventIds(...upFrom(1, count)));
    await pass(2_000);
    expect(ids()).toHaveLength(count);
    await answer("evt_7");
    await pass(0);
    expect(ids().slice(count)).toEqual(eventIds(count + 1));
  });

  test("new pushes are dropped as overloaded if 5,000 new pushes are already waiting", async () => {
    answerByHand();
    await shard().run(0, { queue: queuedMany(16 + 5_000 + 2) });
    const drops = shard().drops.map(({ eventId, reason }) => `${eventId} ${reason}`);
    expect(drops).toEqual(["evt_5017 overloaded", "evt_5018 overloaded"]);
  });

  test.each([
    ["succeeds", OK],
    ["fails", REFUSED],
  ])(
    "new pushes wait until an earlier attempt for the same message %s, and later new pushes wait too",
    async (_how, outcome) => {
      const answer = answerByHand();
      const update = queued(3, { messageId: "msg_1" });
      await shard().run(500, { queue: [queued(1), queued(2), update, queued(4)] });
      await answer("evt_2");
      expect(ids()).toEqual(eventIds(1, 2));
      await answer("evt_1", outcome);
      // First attempts do not wait for a retry.
      expect(ids()).toEqual(eventIds(1, 2, 3, 4));
    },
  );

  test("new pushes do not wait for new pushes of another workspace in the same shard", async () => {
    await shard().run(1, {
      answer: ({ eventId }) => (Number(eventId.slice(4)) > 100 ? OK : unanswered()),
      queue: queuedMany(100),
    });
    shard().add(...upFrom(101, 20).map((number) => queued(number, { workspaceId: OTHER })));
    await pass(0);
    expect(ids().slice(16)).toEqual(eventIds(...upFrom(101, 20)));
  });
});

// time: controlled
describe("if a bridge fails quickly,", () => {
  test("each failed attempt counts as in progress for 200 ms", async () => {
    await shard().run(500, { answer: () => REFUSED, queue: queuedMany(33, { isRetried: false }) });
    const at = (ms: number) =>
      shard()
        .times()
        .filter((time) => time === ms).length;
    expect([at(0), at(200), at(400), shard().attempts.length]).toEqual([16, 16, 1, 33]);
  });

  test("at most 64 retries of its workspace are in progress; further retries wait up to 10 s, and are then dropped as overloaded", async () => {
    let [inProgress, most] = [0, 0];
    async function unansweredRetry(): Promise<PushOutcome> {
      inProgress += 1;
      most = Math.max(most, inProgress);
      const outcome = await unanswered();
      inProgress -= 1;
      return outcome;
    }
    await shard().run(1_500, {
      answer: ({ eventId, number }) => (number === 1 || eventId === "evt_501" ? REFUSED : unansweredRetry()),
      queue: queuedMany(500),
    });
    // The retries of another workspace do not wait.
    shard().add(queued(501, { workspaceId: OTHER }));
    await pass(40_000);
    expect(most).toBe(RETRIES_MAX);
    const timesOf = (id: string) =>
      shard().attempts.flatMap(({ eventId, atMs }) => (eventId === id ? [atMs] : []));
    expect(timesOf("evt_501")).toEqual([1_500, 2_500, 5_500]);

    const overloaded = shard().drops.filter(({ reason }) => reason === "overloaded");
    expect(overloaded.length).toBeGreaterThan(100);
    for (const { eventId, atMs } of overloaded) {
      const tried = timesOf(eventId);
      const dueAt = (tried[0] ?? 0) + (tried.length === 1 ? 1_000 : 4_000);
      expect(atMs - dueAt).toBeGreaterThan(WAIT_MAX_MS);
    }
    // Every other event has had all its attempts.
    const kept = shard().drops.filter(({ reason }) => reason === "failed");
    expect(kept.length + overloaded.length).toBe(501);
    for (const { eventId } of kept) expect(timesOf(eventId)).toHaveLength(3);
    const recorded = shard().recorded.filter(({ delivery }) => delivery?.result === "overloaded");
    expect(new Set(recorded.map(({ next }) => next.do))).toEqual(new Set(["keep"]));
    expect(shard().world.queue).toEqual([]);
  });

  test("if the lease is lost, waiting retries are left to the next holder", async () => {
    await shard().run(3_000, {
      answer: ({ number }) => (number === 1 ? REFUSED : unanswered()),
      queue: queuedMany(100),
    });
    shard().lose();
    await pass(60_000);
    expect(shard().attempts).toHaveLength(100 + RETRIES_MAX);
    expect(shard().world.queue).toHaveLength(100);
  });
});

test("the bytes of an event count until the event is finished or abandoned, and an abandoned event cannot be added again", () => {
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
test("an event is not dropped if the store is unavailable when its workspace must be read", async () => {
  await shard().run(3_000, { workspace: "away" });
  expect([shard().attempts, shard().recorded, shard().drops]).toEqual([[], [], []]);
  await shard().wait(500, { workspace: WORKSPACE });
  expect([shard().attempts.length, shard().recorded.length, shard().drops]).toEqual([1, 1, []]);
});

test("while the store is unavailable, an event is pushed according to the last known record of its workspace", async () => {
  await shard().run(0, { workspace: "away", recalled: KNOWN });
  expect(shard().attempts).toMatchObject([{ url: KNOWN.targetUrl }]);
});

// time: controlled
test.each([
  ["the cached version", 1, KNOWN.targetUrl],
  ["another version", 2, NOW.targetUrl],
])(
  "if the queue reports %s of a workspace's record, the first attempt uses that version, and a retry reads the record again",
  async (_which, version, first) => {
    const versions = new Map([[WORKSPACE.id, version]]);
    await shard().run(1_000, { answer: () => REFUSED, versions, recalled: KNOWN, workspace: NOW });
    expect(shard().attempts.map(({ url }) => url)).toEqual([first, NOW.targetUrl]);
  },
);

// time: controlled
test("if the queue confirms the version of a cached record, core uses the record for 50 ms, like a record from the store", async () => {
  const hold = answerByHand();
  const versions = new Map([[WORKSPACE.id, 1]]);
  await shard().run(49, { versions, recalled: KNOWN, workspace: NOW, queue: queuedMany(18) });
  await hold("evt_1");
  await pass(1);
  await hold("evt_2");
  const urls = shard().attempts.map(({ url }) => url);
  expect(urls).toEqual([...Array<string>(17).fill(KNOWN.targetUrl), NOW.targetUrl]);
});

test.each([
  ["recorded", []],
  ["polls", ["polls"]],
  ["disconnected", ["disconnected"]],
] as const)(
  'if the store answers "%s" when core tries to hold an event, the reported drop reasons are %j',
  async (held, reasons) => {
    await shard().run(0, { workspace: { ...WORKSPACE, targetUrl: "" }, held });
    expect(shard().recorded.map(({ next }) => next.do)).toEqual(["hold"]);
    expect(shard().drops.map(({ reason }) => reason)).toEqual(reasons);
  },
);

// time: controlled
test("if the lease is missing in the store, core repeats its reads until the lease is acquired again", async () => {
  await shard().run(1_000, { lease: "forgotten" });
  expect(shard().attempts).toEqual([]);
  await shard().wait(200, { lease: "held" });
  expect(shard().attempts).toHaveLength(1);
});

// time: controlled
test("attempts are made on time while the store is unavailable, and recorded in order when the store is available again", async () => {
  await shard().run(1_100, {
    answer: ({ number }) => (number < 3 ? REFUSED : OK),
    recalled: WORKSPACE,
    records: "away",
  });
  expect([shard().times(), shard().recorded]).toEqual([[0, 1_000], []]);
  await shard().wait(4_000, { records: "taken" });
  expect(shard().times()).toEqual([0, 1_000, 4_000]);
  const recorded = shard().recorded.map(({ delivery, next }) => `${delivery?.attempt} ${next.do}`);
  expect(recorded).toEqual(["1 retry", "2 retry", "3 done"]);
});

// time: controlled
test("after the lease is lost, no attempt is made or recorded", async () => {
  await shard().run(500, { answer: () => REFUSED, records: "away" });
  shard().lose();
  await shard().wait(10_000, { records: "taken" });
  expect([shard().times(), shard().recorded]).toEqual([[0], []]);
});

// time: controlled
test("when the work on a shard must stop, attempts in progress are still recorded, but no new attempt begins", async () => {
  const queue = [queued(1), queued(2), queued(3, { workspaceId: OTHER })];
  await shard().run(500, {
    queue,
    answer: ({ eventId }) => (eventId === "evt_1" ? after(4_000, OK) : REFUSED),
  });
  // When the work must stop, this event's attempt is waiting for the workspace's record.
  shard().world.workspace = "away";
  shard().add(queued(4, { workspaceId: OTHER.replace("2", "3") }));
  await pass(100);
  shard().stop();
  await shard().wait(10_000, { workspace: WORKSPACE });
  expect(ids()).toEqual(eventIds(1, 2, 3));
  const recorded = shard().recorded.map(({ push, next }) => `${push.eventId} ${next.do}`);
  expect(recorded).toEqual(["evt_2 retry", "evt_3 retry", "evt_1 done"]);
  expect(shard().world.queue.map(({ eventId, attempts }) => [eventId, attempts])).toEqual([
    ["evt_2", 1],
    ["evt_3", 1],
    ["evt_4", 0],
  ]);
});

// time: controlled
test("if the store rejects an outcome because the lease is missing, core records the outcome when the lease is acquired again", async () => {
  await shard().run(2_000, { records: "refused" });
  expect([shard().attempts.length, shard().recorded]).toEqual([1, []]);
  await shard().wait(1_000, { records: "taken" });
  expect(shard().recorded.map(({ next }) => next.do)).toEqual(["done"]);
  expect(shard().attempts).toHaveLength(1);
});

// time: controlled
test("after a failover to a store whose clock is behind, new entries with lower ids are found, and no accepted push is repeated", async () => {
  await shard().run(500, {
    queue: [queued(5)],
    answer: ({ eventId, number }) => (eventId === "evt_5" && number === 1 ? REFUSED : OK),
  });
  // For a moment, the lease is missing in the new store. Then a new entry in the queue has a lower id than the entry
  // that waits for a retry.
  await shard().wait(1_500, { lease: "forgotten" });
  shard().world.lease = "held";
  shard().world.queue.unshift(queued(3));
  await pass(10_000);
  expect(ids()).toEqual(eventIds(5, 5, 3));
  const recorded = shard().recorded.map(({ push, next }) => `${push.entryId} ${next.do}`);
  expect(recorded).toEqual(["5-0 retry", "5-0 done", "3-0 done"]);
});

// time: controlled
test("a lease that has expired according to the clock is not used, even if its timer has not fired", async () => {
  await shard().run(2_000, { isOver: true });
  expect([shard().attempts, shard().recorded, shard().drops]).toEqual([[], [], []]);
});
