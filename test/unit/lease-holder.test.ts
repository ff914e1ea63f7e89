import * as fc from "fast-check";
import { PUSH_DEADLINE_MS } from "../../contract/numbers";
import type { Lease } from "../../core/leases/lease";
import { holdLeases, type LeaseHolder } from "../../core/leases/lease-holder";
import { LEASE_MS, type Leases, type Member } from "../../core/ports/leases";
import { many } from "../harness/for-all";
import { createMemoryLeases, type MemoryLeases } from "../harness/memory-leases";

const SHARDS = 4;

/** Returns functions that start and observe holders. `acquired` lists all leases that the holders have acquired. */
function createHolders(leases: Leases) {
  const acquired: { readonly name: string; readonly lease: Lease }[] = [];
  const faults: unknown[] = [];
  const all: LeaseHolder[] = [];
  const working = { until: (lease: Lease): Promise<void> => aborted(lease.stopping) };
  const busy = new Set<number>();
  return {
    acquired,
    faults,
    working,
    busy,
    all,
    start(name: string, store = leases): LeaseHolder {
      const member: Member = { group: "g", name, token: `token of ${name}` };
      const holder = holdLeases({
        leases: store,
        member,
        work: async (lease) => {
          acquired.push({ name, lease });
          await working.until(lease);
        },
        isBusy: (shard) => busy.has(shard),
        onFault: (error) => faults.push(error),
      });
      all.push(holder);
      return holder;
    },
    /** Returns the names of the cores that can work on a shard now. */
    on: (shard: number) =>
      acquired.filter(({ lease }) => lease.shard === shard && !lease.over.aborted).map(({ name }) => name),
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
/** Advances the clock until `look` returns a value other than undefined and false. */
async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (let steps = 0; steps < 2_000; steps++) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await pass(10);
  }
  throw new Error("the condition did not become true within 20 seconds");
}
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const sorted = ({ held }: LeaseHolder): readonly number[] => held.toSorted((a, b) => a - b);

let memory: MemoryLeases;
let holders: ReturnType<typeof createHolders>;
let finishWork = (): void => undefined;
beforeEach(() => {
  jest.useFakeTimers();
  memory = createMemoryLeases(SHARDS);
  holders = createHolders(memory.store);
});
afterEach(async () => {
  memory.state.away = false;
  finishWork();
  holders.working.until = async () => undefined;
  const closed = Promise.all(holders.all.map((holder) => holder.close()));
  await pass(PUSH_DEADLINE_MS + 1_000);
  await closed;
  jest.useRealTimers();
});

/** Makes the work on these shards continue until the returned function is called. */
function keepWorkingOn(...shards: readonly number[]): () => void {
  const finished = new Promise<void>((resolve) => (finishWork = resolve));
  holders.working.until = async (lease) => {
    await aborted(lease.stopping);
    if (shards.includes(lease.shard)) await finished;
  };
  return finishWork;
}

// time: controlled
test("a closing core releases idle shards immediately, and other shards when the work on them has ended", async () => {
  const finish = keepWorkingOn(2);
  const one = holders.start("a");
  const two = holders.start("d");
  await pass(2_000);
  expect([sorted(one), sorted(two)].join(" ")).toBe("0,2 1,3");
  const closed = one.close();
  await pass(800);
  expect([sorted(two), holders.on(2)]).toEqual([[0, 1, 3], ["a"]]);
  finish();
  await pass(1_000);
  expect([sorted(two), holders.on(2)]).toEqual([[0, 1, 2, 3], ["d"]]);
  await closed;
  expect(memory.members.has("a")).toBe(false);
});

/** Makes work on a shard continue for `ms` milliseconds after the work has been asked to stop. */
function finishWorkAfter(ms: number): void {
  holders.working.until = async (lease) => {
    await aborted(lease.stopping);
    await new Promise((resolve) => setTimeout(resolve, ms));
  };
}

// time: controlled
test.each(["moves to another core's share", "is released because the core closes"])(
  "if a shard %s, the old core renews the lease until it has finished its work, and then the other core begins",
  async (why) => {
    finishWorkAfter(PUSH_DEADLINE_MS);
    const one = holders.start("one");
    await pass(1_000);
    const two = holders.start("two");
    if (why.startsWith("is released")) {
      await pass(PUSH_DEADLINE_MS + 2_000);
      void one.close();
    }
    const isMoving = ({ lease }: { readonly lease: Lease }) => lease.stopping.aborted && !lease.over.aborted;
    const { lease } = await until(() => holders.acquired.find(isMoving));
    for (let ms = 0; ms < PUSH_DEADLINE_MS - 100; ms += 100) {
      expect([ms, lease.state, lease.isOver(), holders.on(lease.shard)]).toEqual([
        ms,
        "draining",
        false,
        ["one"],
      ]);
      await pass(100);
    }
    await pass(1_000);
    expect([lease.state, holders.on(lease.shard)]).toEqual(["released", ["two"]]);
    void two.close();
  },
);

// time: controlled
test("if the work on a shard does not end, the core renews the lease only for as long as a push can take, and then another core acquires it", async () => {
  keepWorkingOn(0, 1, 2, 3);
  holders.start("one");
  await pass(1_000);
  const started = performance.now();
  holders.start("two");
  await until(() => holders.acquired.some(({ name }) => name === "two"));
  expect(performance.now() - started).toBeLessThan(PUSH_DEADLINE_MS + LEASE_MS + 2_000);
  expect(holders.acquired.find(({ lease }) => lease.stopping.aborted)?.lease.state).toBe("lost");
});

// time: controlled
test("if a core gets a shard back while it is still finishing the work on the shard, the core finishes the old work before it begins again", async () => {
  finishWorkAfter(2_000);
  const one = holders.start("a");
  await pass(1_000);
  const two = holders.start("b");
  await pass(1_000);
  const leases = holders.acquired.map(({ lease }) => lease);
  const moving = leases.filter((lease) => lease.stopping.aborted);
  expect(moving.map(({ state }) => state)).toEqual(["draining", "draining"]);
  void two.close();
  await pass(4_000);
  expect([sorted(one), moving.map(({ state }) => state)]).toEqual([
    [0, 1, 2, 3],
    ["released", "released"],
  ]);
});

const INTO_BEAT = Array.from({ length: 12 }, (_, i) => i);

// time: controlled
test.each(INTO_BEAT)(
  "a core that closes around the time of a beat (case %i) keeps the lease of a shard until the work on the shard has ended",
  async (ms) => {
    const finish = keepWorkingOn(0, 1, 2, 3);
    const one = holders.start("one");
    // In a beat, a core acquires and renews its leases. The first beat takes 2 ms, and the next beat begins
    // 750 ms later.
    await pass(752 - 4 + ms);
    expect(sorted(one)).toEqual([0, 1, 2, 3]);
    const closed = one.close();
    await pass(100);
    expect([0, 1, 2, 3].map(memory.holder)).toEqual(Array(SHARDS).fill("token of one"));
    finish();
    await pass(100);
    await closed;
    expect([0, 1, 2, 3].map(memory.holder)).toEqual(Array(SHARDS).fill(undefined));
  },
);

// time: controlled
test("a lease that cannot be renewed counts as lost before another core can acquire it", async () => {
  const one = holders.start("one");
  await pass(1_000);
  memory.state.away = true;
  let lostAt: number | undefined;
  holders.acquired[0]?.lease.over.addEventListener("abort", () => (lostAt = performance.now()));
  const free = (): boolean => memory.holder(0) === undefined;
  while (!free()) await pass(10);
  expect(lostAt).toBeLessThan(performance.now() - 200);
  expect(one.held).toEqual([]);
  memory.state.away = false;
  await pass(1_000);
  expect(sorted(one)).toEqual([0, 1, 2, 3]);
  expect(holders.on(0)).toEqual(["one"]);
});

// time: controlled
test("a lease that another core has acquired is lost at the next renewal, and other leases are kept", async () => {
  const one = holders.start("one");
  await pass(20_000);
  expect([sorted(one), holders.acquired.length]).toEqual([[0, 1, 2, 3], SHARDS]);
  memory.steal(1);
  await pass(800);
  expect([sorted(one), holders.on(1)]).toEqual([[0, 2, 3], []]);
});

// time: controlled
test("work that fails is reported, its lease is released, and the next beat starts the work again", async () => {
  const fault = new Error("a bug");
  holders.working.until = async () => {
    throw fault;
  };
  const one = holders.start("one");
  await pass(100);
  expect(holders.faults).toEqual(Array.from({ length: SHARDS }, () => fault));
  expect([one.held, [0, 1, 2, 3].map(memory.holder)]).toEqual([[], Array(SHARDS).fill(undefined)]);
  holders.working.until = (lease) => aborted(lease.stopping);
  await pass(800);
  expect([sorted(one), holders.faults.length]).toEqual([[0, 1, 2, 3], SHARDS]);
  const closed = Promise.all([one.close(), one.close()]);
  await pass(1_000);
  await closed;
});

// time: controlled
test("however cores start and stop, no shard ever has two cores, and in the end each shard has one", async () => {
  const step = fc.record({ core: fc.nat(3), waitMs: fc.nat(1_500), away: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const own = createMemoryLeases(SHARDS);
      const some = createHolders(own.store);
      const open = new Map<number, LeaseHolder>();
      const closing: Promise<void>[] = [];
      let started = 0;
      const watch = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 50) {
          await pass(50);
          for (let shard = 0; shard < SHARDS; shard++) expect(some.on(shard).length).toBeLessThanOrEqual(1);
        }
      };
      for (const { core, waitMs, away } of steps) {
        own.state.away = away;
        const known = open.get(core);
        if (known === undefined) open.set(core, some.start(`core ${++started}`));
        else {
          open.delete(core);
          closing.push(known.close());
        }
        await watch(waitMs);
      }
      own.state.away = false;
      if (open.size === 0) open.set(9, some.start("the last"));
      await watch(3 * LEASE_MS);
      for (let shard = 0; shard < SHARDS; shard++) expect(some.on(shard)).toHaveLength(1);
      for (const holder of open.values()) closing.push(holder.close());
      await pass(2 * LEASE_MS);
      await Promise.all(closing);
      expect(some.faults).toEqual([]);
    }),
    { numRuns: many(25) },
  );
});

// time: controlled
test("however cores start and stop, a core never loses the lease of a shard whose work ends within the maximum time of a push", async () => {
  const step = fc.record({ core: fc.nat(3), waitMs: fc.nat(3_000), workMs: fc.nat(PUSH_DEADLINE_MS) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      const some = createHolders(createMemoryLeases(SHARDS).store);
      const open = new Map<number, LeaseHolder>();
      const closing: Promise<void>[] = [];
      let [started, workMs] = [0, 0];
      some.working.until = async (lease) => {
        const ms = workMs;
        await aborted(lease.stopping);
        await new Promise((resolve) => setTimeout(resolve, ms));
      };
      for (const [i, { core, waitMs }] of steps.entries()) {
        workMs = steps[i]?.workMs ?? 0;
        const known = open.get(core);
        if (known === undefined) open.set(core, some.start(`core ${++started}`));
        else {
          open.delete(core);
          closing.push(known.close());
        }
        await pass(waitMs);
      }
      for (const holder of open.values()) closing.push(holder.close());
      await pass(2 * PUSH_DEADLINE_MS);
      await Promise.all(closing);
      expect(some.acquired.filter(({ lease }) => lease.state !== "released").map(({ name }) => name)).toEqual(
        [],
      );
      expect(some.faults).toEqual([]);
    }),
    { numRuns: many(25) },
  );
});

// time: controlled
test("while cores of an older release are replaced or restarted, each shard soon has one core, and never has two", async () => {
  const steps = fc.array(fc.record({ place: fc.nat(3), isOlder: fc.boolean() }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(steps, async (replacements) => {
      const own = createMemoryLeases(SHARDS);
      const some = createHolders(own.store);
      let started = 0;
      const start = (isOlder: boolean) =>
        some.start(`core ${++started}`, isOlder ? own.olderStore : own.store);
      const counts = () => Array.from({ length: SHARDS }, (_, shard) => some.on(shard).length);
      const settle = async (): Promise<void> => {
        for (let passed = 0; passed < 2 * LEASE_MS; passed += 50) {
          await pass(50);
          expect(Math.max(...counts())).toBeLessThanOrEqual(1);
        }
        expect(counts()).toEqual(Array(SHARDS).fill(1));
      };
      const cores = [true, true, true, true].map(start);
      await settle();
      const closing: Promise<void>[] = [];
      for (const { place, isOlder } of replacements) {
        const replaced = cores[place];
        cores[place] = start(isOlder);
        await settle();
        const acquired = some.acquired.length;
        await pass(2 * LEASE_MS);
        // Once each shard has a core, no lease moves.
        expect(some.acquired.length).toBe(acquired);
        if (replaced !== undefined) closing.push(replaced.close());
        await settle();
      }
      closing.push(...cores.map((core) => core.close()));
      await pass(LEASE_MS);
      await Promise.all(closing);
      expect(some.faults).toEqual([]);
    }),
    { numRuns: many(15) },
  );
});

// time: controlled
test("work that ends after its lease was lost does not release the next holder's lease", async () => {
  let first = true;
  holders.working.until = async (lease) => {
    await aborted(lease.stopping);
    if (lease.shard !== 1 || !first) return;
    first = false;
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 2_000));
  };
  holders.start("a");
  await pass(2_000);
  const other = holders.start("b");
  // The new core gets its share of the shards. On shard 1, the old core's work continues for longer than the lease.
  await pass(LEASE_MS + 200);
  void other.close();
  for (let ms = 0; ms < 6_000; ms += 100) {
    await pass(100);
    if (holders.on(1).length > 0) expect([ms, memory.holder(1)]).toEqual([ms, expect.any(String)]);
  }
  expect(holders.on(1)).toEqual(["a"]);
});

// time: controlled
test("a lease expires according to the clock, even if its timer has not fired", async () => {
  holders.start("a");
  await pass(1_000);
  const lease = holders.acquired[0]?.lease;
  expect(lease?.isOver()).toBe(false);
  // Simulates a process that was suspended: the clock has advanced, but no timer has fired.
  const later = performance.now() + LEASE_MS;
  const clock = jest.spyOn(performance, "now").mockReturnValue(later);
  expect([lease?.isOver(), lease?.over.aborted]).toEqual([true, false]);
  clock.mockRestore();
});

// time: controlled
test("if another core now owns a busy shard, the lease is renewed as `draining`; if the shard moves back, the lease is `held`", async () => {
  const one = holders.start("a");
  await pass(1_000);
  const lease = holders.acquired.find((each) => each.lease.shard === 1)?.lease;
  holders.busy.add(1);
  const other = holders.start("d");
  await pass(2 * LEASE_MS);
  expect([sorted(one), lease?.state]).toEqual([[0, 1, 2], "draining"]);
  void other.close();
  await pass(2_000);
  expect([sorted(one), lease?.state, lease?.stopping.aborted]).toEqual([[0, 1, 2, 3], "held", false]);
  const third = holders.start("f");
  await pass(2_000);
  expect(lease?.state).toBe("draining");
  holders.busy.clear();
  await pass(2_000);
  expect([sorted(one), sorted(third), lease?.state]).toEqual([[0, 2], [1, 3], "released"]);
});

// time: controlled
test("if a renewal is confirmed after the lease expired, the lease counts as lost, and the work begins again", async () => {
  holders.start("a");
  await pass(1_000);
  const lease = holders.acquired[0]?.lease;
  const take = jest
    .spyOn(memory.store, "take")
    .mockImplementation(() => new Promise((resolve) => setTimeout(resolve, LEASE_MS, true)));
  await pass(LEASE_MS);
  expect([lease?.state, holders.on(0)]).toEqual(["lost", []]);
  take.mockRestore();
  await pass(2_000);
  expect([lease?.state, holders.on(0)]).toEqual(["lost", ["a"]]);
});
