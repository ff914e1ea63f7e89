import { ownersOf } from "../../core/leases/owners";
import { deliveryId } from "../../core/operations/in-flight";
import { closeAll, createGroup, DEADLINE_MS, pass, seen, type Group } from "../harness/follow-group";

/** Names of two streams: when both are open, EVEN owns the shards 0 and 2, and ODD owns 1 and 3. */
const [EVEN, ODD] = ["c1", "cp"];

test("the streams EVEN and ODD each own every second shard", () => {
  expect(ownersOf(4, [EVEN, ODD])).toEqual([EVEN, ODD, EVEN, ODD]);
});

let groups: Group[] = [];
beforeEach(() => void jest.useFakeTimers());
afterEach(async () => {
  for (const group of groups) await closeAll(group);
  groups = [];
  jest.useRealTimers();
});

function startGroup(window = 10): Group {
  const group = createGroup(window);
  groups.push(group);
  return group;
}

// time: controlled
describe("one stream", () => {
  test("a stream gets an overdue event again, together with the workspace's later events, and with a higher attempt number", async () => {
    const group = startGroup();
    const stream = group.open("c");
    await group.append("a", "a", "b", "a");
    const [a0, , b0] = stream.delivered;
    group.ack(stream, ...[a0, b0].flatMap((each) => each ?? []));
    // The deadline of a1 begins with the ack of a0.
    await pass(DEADLINE_MS + 100);
    expect(seen(stream)).toEqual(["a0/1", "a1/1", "b0/1", "a2/1", "a1/2", "a2/2"]);
  });

  test("a stream gets a nacked event again with the workspace's later events, in order, and an event that arrives during the delay after them", async () => {
    const group = startGroup();
    const stream = group.open("c");
    await group.append("a", "a", "b");
    stream.follower.nack([stream.delivered[0]?.id ?? "", "nonsense"], 1_000);
    await group.append("a");
    expect(seen(stream)).toEqual(["a0/1", "a1/1", "b0/1"]);
    await pass(1_000);
    expect(seen(stream).slice(3)).toEqual(["a0/2", "a1/2", "a2/1"]);
    group.ack(stream, ...stream.delivered.slice(3, 4));
    stream.follower.nack([stream.delivered[4]?.id ?? ""], 0);
    await pass(200);
    expect([seen(stream).slice(6), group.faults]).toEqual([["a1/3", "a2/2"], []]);
  });

  test("a stream does not get a dead letter again, even if the store is unavailable at first", async () => {
    const group = startGroup();
    const stream = group.open("c");
    await group.append("a");
    group.memory.away = true;
    const id = stream.delivered[0]?.id ?? "";
    expect([stream.follower.deadLetter(id, "x"), stream.follower.deadLetter(id, "x")]).toEqual([true, false]);
    await pass(500);
    group.memory.away = false;
    await pass(DEADLINE_MS);
    expect([seen(stream), group.memory.unacked]).toEqual([["a0/1"], 0]);
  });

  test("a stream gets the events of other shards while one shard is busy, even with a small window", async () => {
    const group = startGroup(1);
    for (let i = 0; i < 20; i++) group.memory.append("a");
    group.memory.append("c");
    group.memory.append("d");
    const stream = group.open("c");
    for (let i = 0; i < 5; i++) {
      await pass(500);
      group.ack(stream, ...stream.delivered.slice(-1));
    }
    expect(seen(stream).slice(0, 5)).toEqual(expect.arrayContaining(["c0/1", "d0/1"]));
  });

  test("a stream ignores acks of events that were never delivered", async () => {
    const group = startGroup();
    const stream = group.open("c");
    stream.follower.ack(["", "nonsense", deliveryId(0, "7-0"), deliveryId(99, "1-0")]);
    await group.append("a");
    expect(seen(stream)).toEqual(["a0/1"]);
  });

  test("a stream gets each event exactly once, even if an answer from the store is lost", async () => {
    for (let ms = 1; ms <= 80; ms++) {
      const group = startGroup();
      const stream = group.open("c");
      await group.append("a");
      group.memory.append("a");
      await pass(ms); // The store becomes unavailable before, during or after a call.
      await group.away(100);
      await pass(1_000);
      expect(stream.delivered.map(({ number }) => number)).toEqual([0, 1]);
      group.ack(stream, ...stream.delivered);
      await pass(500);
      expect(group.memory.unacked).toBe(0);
      await closeAll(group);
    }
  });

  test("after losing and regaining a shard, a stream reads the shard from its oldest unacked event, even if no other stream held it", async () => {
    const group = startGroup();
    const cut = group.open("c");
    await pass(1_000);
    await group.append("a");
    group.ack(cut, ...cut.delivered);
    await pass(500);
    cut.connection.cutOff = true;
    await pass(6_000);
    // Another stream reads an event, does not ack it, and stops.
    const other = group.open("d");
    await pass(1_500);
    await group.append("a");
    expect(seen(other)).toEqual(["a1/1"]);
    other.stop();
    await pass(1_000);
    cut.connection.cutOff = false;
    await pass(2_000);
    expect(seen(cut)).toEqual(["a0/1", "a1/2"]);
  });

  test("a stream gets neither new events nor redeliveries while its client reads too slowly, and continues in order when the client catches up", async () => {
    const group = startGroup();
    const stream = group.open("c");
    await group.append("a");
    stream.unsent.isBehind = true;
    for (const workspace of ["a", "c"] as const) group.memory.append(workspace);
    await pass(3 * DEADLINE_MS);
    expect(seen(stream)).toEqual(["a0/1"]);
    stream.unsent.isBehind = false;
    stream.follower.resume();
    await pass(500);
    expect(seen(stream).toSorted()).toEqual(["a0/1", "a0/2", "a1/1", "c0/1"]);
    expect(group.faults).toEqual([]);
  });

  test("a stream continues with the next event when the store is available again", async () => {
    const group = startGroup();
    const stream = group.open("c");
    await group.append("a");
    group.memory.away = true;
    await pass(500);
    group.ack(stream, ...stream.delivered);
    await group.append("a");
    group.memory.away = false;
    await pass(1_000);
    expect(seen(stream)).toEqual(["a0/1", "a1/1"]);
  });
});

// time: controlled
describe("several streams of a group:", () => {
  test("the first stream keeps all shards until their events are acked, and then each stream has its share", async () => {
    const group = startGroup();
    const first = group.open(EVEN);
    await group.append("a", "c");
    const second = group.open(ODD);
    await pass(2_000);
    expect([seen(first), seen(second)]).toEqual([["a0/1", "c0/1"], []]);
    group.ack(first, ...first.delivered);
    await pass(2_500);
    await group.append("a", "c", "d", "e");
    // Acked events are not redelivered.
    expect(seen(first).slice(2).toSorted()).toEqual(["a1/1", "d0/1"]);
    expect(seen(second).toSorted()).toEqual(["c1/1", "e0/1"]);
  });

  test("even if a stream never acks, a new stream gets its share of the shards after the ack deadline", async () => {
    const group = startGroup();
    const stuck = group.open(EVEN);
    await group.append("c");
    const healthy = group.open(ODD);
    await pass(DEADLINE_MS + 3_000);
    expect([seen(stuck), seen(healthy)]).toEqual([["c0/1"], ["c0/2"]]);
  });

  test("the delay of a nack does not prevent a shard from moving to the stream that owns it", async () => {
    const group = startGroup();
    const first = group.open(EVEN);
    await group.append("c");
    first.follower.nack([first.delivered[0]?.id ?? ""], 600_000);
    const second = group.open(ODD);
    await pass(3_000);
    expect([seen(first), seen(second)]).toEqual([["c0/1"], ["c0/2"]]);
  });

  test("if a shard belongs to another stream, an overdue event of the shard and the workspace's later events are removed from the window", async () => {
    const group = startGroup(2);
    const first = group.open(EVEN);
    group.memory.append("c");
    await pass(1_000);
    group.memory.append("c");
    await pass(200);
    group.open(ODD);
    await pass(1_500);
    for (let i = 0; i < 2; i++) group.memory.append("a");
    await pass(1_000);
    expect([seen(first), group.faults]).toEqual([["c0/1", "c1/1", "a0/1", "a1/1"], []]);
  });

  test("if an event becomes overdue while its shard moves, and the new holder leaves without delivering it, the old holder redelivers the event", async () => {
    const group = startGroup();
    const stream = group.open(EVEN);
    await pass(500);
    group.memory.append("c");
    await pass(1_700);
    const passing = group.open(ODD);
    await pass(1_500);
    passing.stop();
    await pass(2_000);
    expect([seen(stream), seen(passing)]).toEqual([["c0/1", "c0/2"], []]);
  });

  test("a newer stream of the same consumer replaces the older stream", async () => {
    const group = startGroup();
    const older = group.open("c");
    await group.append("a");
    const newer = group.open("c");
    await pass(3_000);
    expect([older.ended, newer.ended, seen(newer)]).toEqual(["replaced", undefined, ["a0/2"]]);
  });

  test("an older stream whose first join got no answer does not replace the newer stream", async () => {
    for (let ms = 1; ms <= 80; ms++) {
      const group = startGroup();
      const older = group.open("c");
      await pass(ms); // The store becomes unavailable before, during or after the join.
      await group.away(100);
      const newer = group.open("c");
      await pass(2_000);
      expect([older.ended, newer.ended]).toEqual(["replaced", undefined]);
      await closeAll(group);
    }
  });

  test("a newer stream replaces the older stream, even if the store was unavailable when the newer stream tried to join", async () => {
    const group = startGroup();
    const older = group.open("c");
    await pass(500);
    group.memory.away = true;
    const newer = group.open("c");
    await pass(10_000);
    group.memory.away = false;
    await pass(2_000);
    expect([older.ended, newer.ended]).toEqual(["replaced", undefined]);
  });
});
