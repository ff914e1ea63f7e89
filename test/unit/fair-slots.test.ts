import * as fc from "fast-check";
import { createFairSlots, SlotsFull } from "../../core/domain/fair-slots";
import { many } from "../harness/for-all";

/** Waits until all promises that can settle have settled. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Slots whose tasks run until `end` is called. `begun` lists the keys of the tasks, in the order in which the tasks
 * began.
 */
function createTestSlots(inAll: number, ofOne: number) {
  const slots = createFairSlots({ inAll, ofOne });
  const begun: string[] = [];
  const running: { readonly key: string; readonly end: () => void }[] = [];
  return {
    begun,
    running,
    runningOf: (key: string) => running.filter((task) => task.key === key).length,
    async run(key: string, turn?: { signal?: AbortSignal; waitingMax?: number }): Promise<string> {
      const task = async (): Promise<void> => {
        begun.push(key);
        await new Promise<void>((end) => running.push({ key, end }));
      };
      return slots.run(key, task, turn).then(
        () => "done",
        (error: unknown) => (error instanceof SlotsFull ? "full" : String(error)),
      );
    },
    async end(index: number): Promise<void> {
      running.splice(index, 1)[0]?.end();
      await settle();
    },
  };
}

type Step =
  | { readonly do: "run"; readonly key: string; readonly waitingMax: number }
  | { readonly do: "cancel" | "end"; readonly which: number };

const KEY = fc.constantFrom("a", "b", "c", "d");
const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("run" as const), key: KEY, waitingMax: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constantFrom("cancel" as const, "end" as const), which: fc.nat(50) }),
);

test("no bound is ever exceeded, no slot stays free while a task can use it, and tasks are refused only if too many tasks of their key are waiting", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(STEP, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, inAll, ofOne) => {
        const slots = createTestSlots(inAll, ofOne);
        // A model of the waiting tasks, oldest first. The model does not predict whose turn is next: the test tells the
        // model which tasks have begun.
        let waiting: {
          readonly key: string;
          readonly cancel: () => void;
          readonly ended: Promise<string>;
        }[] = [];
        let seen = 0;
        for (const step of steps) {
          if (step.do === "run") {
            const controller = new AbortController();
            const { key, waitingMax } = step;
            const isFull = waiting.filter((task) => task.key === key).length >= waitingMax;
            const ended = slots.run(key, { signal: controller.signal, waitingMax });
            if (isFull) expect(await ended).toBe("full");
            else waiting.push({ key, ended, cancel: () => controller.abort("cancelled") });
          } else if (step.do === "end") {
            if (slots.running.length > 0) await slots.end(step.which % slots.running.length);
          } else if (waiting.length > 0) {
            const [task] = waiting.splice(step.which % waiting.length, 1);
            task?.cancel();
            expect(await task?.ended).toBe("cancelled");
          }
          await settle();
          for (const key of slots.begun.slice(seen)) {
            const first = waiting.find((task) => task.key === key);
            expect(first).toBeDefined();
            waiting = waiting.filter((task) => task !== first);
          }
          seen = slots.begun.length;
          expect(slots.running.length).toBeLessThanOrEqual(inAll);
          for (const key of ["a", "b", "c", "d"]) expect(slots.runningOf(key)).toBeLessThanOrEqual(ofOne);
          if (slots.running.length < inAll)
            for (const { key } of waiting) expect(slots.runningOf(key)).toBe(ofOne);
        }
        while (slots.running.length > 0) await slots.end(0);
        for (const { ended } of waiting) expect(await ended).toBe("done");
      },
    ),
    { numRuns: many(100) },
  );
});

test("after each task of a key with many waiting tasks, every other key has a turn", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 5 }),
      async (count, others) => {
        const slots = createTestSlots(1, 2);
        void slots.run("running");
        for (let i = 0; i < count; i++) void slots.run("many");
        for (let i = 0; i < others; i++) void slots.run(`other${i}`);
        // The key "many" gets its second turn only after every other key has had a turn.
        for (let i = 0; i < others + 2; i++) await slots.end(0);
        const turns = slots.begun.slice(1, others + 2);
        expect(new Set(turns).size).toBe(others + 1);
        while (slots.running.length > 0) await slots.end(0);
        expect(slots.begun).toHaveLength(1 + count + others);
      },
    ),
    { numRuns: many(20) },
  );
});

test("if a holder frees its slot several times, only the first call has an effect", async () => {
  const slots = createFairSlots({ inAll: 1, ofOne: 1 });
  const free = await slots.acquire("a");
  const [second, third] = [slots.acquire("b"), slots.acquire("c")];
  free();
  free();
  const freeSecond = await second;
  const isThird = Promise.race([third.then(() => true), settle().then(() => false)]);
  expect(await isThird).toBe(false);
  freeSecond();
  (await third)();
});

test("a task that was cancelled before `run` was called never begins, and a task that fails frees its slot", async () => {
  const slots = createFairSlots({ inAll: 1, ofOne: 1 });
  const begun: string[] = [];
  const task = async (): Promise<void> => void begun.push("begun");
  await expect(slots.run("a", task, { signal: AbortSignal.abort(new Error("cancelled")) })).rejects.toThrow(
    "cancelled",
  );
  expect(begun).toEqual([]);
  await expect(slots.run("a", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  await slots.run("a", task);
  expect(begun).toEqual(["begun"]);
});

test("`tryAcquire` returns a slot only if no task waits for the slot, and the slot can then be freed like any other", async () => {
  const slots = createFairSlots({ inAll: 2, ofOne: 1 });
  const free = slots.tryAcquire("a");
  expect(free).toBeDefined();
  expect(slots.tryAcquire("a")).toBeUndefined();
  const next = slots.acquire("a");
  const freeOther = slots.tryAcquire("b");
  expect(freeOther).toBeDefined();
  expect(slots.tryAcquire("c")).toBeUndefined();
  free?.();
  const freeNext = await next;
  expect(slots.tryAcquire("a")).toBeUndefined();
  freeNext();
  freeOther?.();
  expect(slots.tryAcquire("a")).toBeDefined();
});
