import * as fc from "fast-check";
import { gate } from "../../../test/harness/gate";
import { shardOf } from "../../../../core/domain/shard";
import { many } from "../../../../test/harness/for-all";
import { createGame, memoryStore, type GameStore, type MessageRef } from "../../index";
import { SHARDS } from "../../testing/memory-core";
import { UnsafeProcess, type Fault } from "./unsafe-process";
import { World } from "./world";

const WORKSPACES = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
/** The text that a member sees when an event is dropped. */
const DROPPED = "dropped";
/** Milliseconds for which the last process runs. All waits of the kit are shorter. */
const LAST_MS = 600_000;

type Kind = "plain" | "failing" | "poison" | "slow" | "timer" | "failing timer";

type Step =
  | { readonly do: "event"; readonly workspace: number; readonly kind: Kind; readonly delay: number }
  | { readonly do: "start" | "lose streams" | "redeliver" | "unavailable" | "available" | "release" }
  | { readonly do: "kill" | "stop" | "suspend" | "resume" | "replace"; readonly process: number }
  | {
      readonly do: "plan";
      readonly process: number;
      readonly call: "save" | "load" | "publish";
      readonly fault: Fault;
    }
  | { readonly do: "wait"; readonly ms: number };

const process = fc.nat(2);
const kind = fc.constantFrom<Kind>("plain", "plain", "failing", "poison", "slow", "timer", "failing timer");
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("event" as const),
      workspace: fc.nat(WORKSPACES.length - 1),
      kind,
      delay: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(["start", "lose streams", "redeliver", "unavailable", "available", "release"] as const),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(...(["kill", "stop", "suspend", "resume", "replace"] as const)),
      process,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("plan" as const),
      process,
      call: fc.constantFrom(...(["save", "load", "publish"] as const)),
      fault: fc.constantFrom<Fault>("crash before", "crash after", "fail before", "fail after"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  },
);
/** Steps, each with the number of microtask turns that the test waits after the step. */
const steps = fc.array(fc.tuple(step, fc.constantFrom(0, 1, 2, 3, 5, 8, 13, 50)), { maxLength: 40 });

interface Log {
  done: string[];
  rung: string[];
  board?: MessageRef;
}

/** Processes of a game, and the expected messages. */
class Scenario {
  readonly world: World<Log>;
  readonly processes: UnsafeProcess<Log>[] = [];
  readonly #stops: Promise<void>[] = [];
  /** Handlers that wait for a release. */
  #slow = gate();
  #isReleased = false;
  /** Number of failures of each failing event. */
  readonly #failures = new Map<string, number>();
  /** For each workspace, the events that change the state, in order, and the events that set a timer. */
  readonly events = WORKSPACES.map((): string[] => []);
  readonly timers = WORKSPACES.map((): string[] => []);
  /** The number of events of each workspace whose handler always fails. */
  readonly poisoned = WORKSPACES.map(() => 0);
  #events = 0;
  #consumers = 0;
  readonly #newStore: () => GameStore;

  constructor(newStore: () => GameStore) {
    this.#newStore = newStore;
    this.world = new World(this.#game());
    for (const id of WORKSPACES) this.world.core.addWorkspace(id);
    for (let i = 0; i < 2; i++) this.#start();
  }

  #game() {
    const game = createGame<Log>({
      name: "log",
      state: () => ({ done: [], rung: [] }),
      maxEventAge: "7 d",
      failureNotice: DROPPED,
    });
    const ring = game.timer<{ id: string; fails: boolean }>("ring", (turn, { id, fails }) => {
      turn.state.rung.push(id);
      turn.reply(`ring ${id}`);
      if (fails) this.#fail(`ring ${id}`);
    });
    game.command("do", "does", async (turn, [id = "", kind, delay]) => {
      turn.state.done.push(id);
      const count = turn.state.done.length;
      turn.state.board ??= turn.reply("board");
      turn.reply(`${id} first of ${count}`);
      turn.update(`board ${count}`, turn.state.board);
      if (kind === "timer" || kind === "failing-timer")
        turn.after(`${Number(delay)} s`, ring({ id, fails: kind === "failing-timer" }));
      if (kind === "poison") throw new Error("always fails");
      if (kind === "failing") this.#fail(id);
      if (kind === "slow" && this.#isSlow(id)) await this.#slow.opened;
      turn.reply(`${id} second of ${count}`);
    });
    return game;
  }

  /** Only the first two attempts are slow, because an event is dropped after five attempts that last too long. */
  #isSlow(id: string): boolean {
    const attempts = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, attempts);
    return attempts <= 2 && !this.#isReleased;
  }

  /** Fails twice. */
  #fail(what: string): void {
    const failures = (this.#failures.get(what) ?? 0) + 1;
    this.#failures.set(what, failures);
    if (failures <= 2) throw new Error("fails at times");
  }

  #start(consumer = `consumer-${++this.#consumers}`): UnsafeProcess<Log> {
    const started = new UnsafeProcess(this.world, this.#newStore(), consumer);
    this.processes.push(started);
    return started;
  }

  get #living(): readonly UnsafeProcess<Log>[] {
    return this.processes.filter(({ isDead }) => !isDead);
  }

  #process(index: number): UnsafeProcess<Log> | undefined {
    const living = this.#living;
    return living[index % living.length];
  }

  take(step: Step): void {
    const { core, clock } = this.world;
    switch (step.do) {
      case "event":
        return this.#event(step.workspace, step.kind, step.delay);
      case "start":
        if (this.#living.length < 3) this.#start();
        return;
      case "lose streams":
        return core.endStreams();
      case "redeliver":
        return void core.redeliver();
      case "unavailable":
      case "available":
        return core.setUnavailable(step.do === "unavailable");
      case "release":
        this.#slow.open();
        return void (this.#slow = gate());
      case "kill":
        return this.#process(step.process)?.kill();
      case "stop": {
        const stopping = this.#process(step.process)?.run.stop();
        if (stopping) this.#stops.push(stopping);
        return;
      }
      case "suspend":
        return this.#process(step.process)?.suspend();
      case "resume":
        return this.#process(step.process)?.resume();
      case "replace": {
        // A new process replaces the suspended process that has the same name.
        const replaced = this.#process(step.process);
        replaced?.suspend();
        if (replaced !== undefined) this.#start(replaced.consumer);
        return;
      }
      case "plan": {
        const planned = this.#process(step.process);
        if (planned) planned.faults[step.call] = step.fault;
        return;
      }
      case "wait":
        return clock.advance(step.ms);
    }
  }

  #event(workspace: number, kind: Kind, delay: number): void {
    const id = `e${++this.#events}`;
    if (kind === "poison") this.poisoned[workspace] = (this.poisoned[workspace] ?? 0) + 1;
    else this.events[workspace]?.push(id);
    if (kind === "timer" || kind === "failing timer") this.timers[workspace]?.push(id);
    const text = `do ${id} ${kind.replace(" ", "-")} ${delay}`;
    this.world.core.receive(WORKSPACES[workspace] ?? "", {
      channel: { id: "room" },
      user: { id: "ada" },
      kind: { $case: "command", value: { text } },
    });
  }

  /** Ends all faults, suspensions and waits, and then lets a last process finish the work. */
  async end(): Promise<void> {
    const { world } = this;
    world.core.setUnavailable(false);
    for (const each of this.processes)
      for (const call of ["save", "load", "publish"] as const) delete each.faults[call];
    this.#isReleased = true;
    this.#slow.open();
    for (const each of this.processes) each.resume();
    await world.settled();
    await Promise.all(this.#stops);
    const last = this.#start();
    for (const each of this.processes) if (each !== last) each.kill();
    await world.advance(LAST_MS);
  }

  /** Returns the texts that were published in a workspace, without the updates of the board. */
  published(workspace: number): readonly string[] {
    const sent = this.world.core.workspace(WORKSPACES[workspace] ?? "")?.outbound ?? [];
    return sent
      .filter(({ event }) => event.content.type !== "message.update")
      .map(({ event }) => event.content.message.text);
  }
}

/** Returns the events that core accepts from a process that does not own their shard at that time. */
function watchStale({ world, processes }: Scenario): readonly string[] {
  const { core } = world;
  const stale: string[] = [];
  const publish = core.publish.bind(core);
  core.publish = (events) => {
    const publisher = processes.find((each) => each.isPublishing(events));
    const results = publish(events);
    for (const [i, { outcome }] of results.entries()) {
      const { workspaceId = "", idempotencyKey = "" } = events[i] ?? {};
      if (outcome?.$case !== "published" || outcome.value.repeated) continue;
      if (publisher?.owned.has(shardOf(workspaceId, SHARDS)) !== true) stale.push(idempotencyKey);
    }
    return results;
  };
  return stale;
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

const TIME_LIMIT_MS = 4_000;

test("with a shared store, each event and timer takes effect once and in order, even after crashes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (todo) => {
      const store = memoryStore();
      const scenario = new Scenario(() => store);
      for (const [each, pause] of todo) {
        scenario.take(each);
        await turns(pause);
      }
      await scenario.end();
      for (const [i, id] of WORKSPACES.entries()) {
        const events = scenario.events[i] ?? [];
        const timers = scenario.timers[i] ?? [];
        const document = (await store.load(id))?.document;
        const state = document?.states[""] as Log | undefined;
        expect(state?.done ?? []).toEqual(events);
        expect((state?.rung ?? []).toSorted()).toEqual(timers.toSorted());
        expect(document?.outbox ?? []).toEqual([]);
        const all = scenario.published(i);
        expect(all.filter((text) => text === DROPPED)).toHaveLength(scenario.poisoned[i] ?? 0);
        const published = all.filter((text) => text !== DROPPED);
        const rings = published.filter((text) => text.startsWith("ring "));
        expect(rings.toSorted()).toEqual(timers.map((timer) => `ring ${timer}`).toSorted());
        expect(published.filter((text) => !text.startsWith("ring "))).toEqual([
          ...(events.length > 0 ? ["board"] : []),
          ...events.flatMap((event, n) => [`${event} first of ${n + 1}`, `${event} second of ${n + 1}`]),
        ]);
        const board = scenario.world.core
          .workspace(id)
          ?.messages.find(({ content }) => content.text.startsWith("board"));
        expect(board?.content.text).toBe(events.length > 0 ? `board ${events.length}` : undefined);
      }
      const broken = scenario.world.core.report().filter(({ severity }) => severity === "broken");
      // `MemoryLink` does not extend deadlines, so slow handlers and suspended processes miss their ack deadlines.
      expect(broken.filter(({ code }) => code !== "late-ack")).toEqual([]);
    }),
    { numRuns: many(400), interruptAfterTimeLimit: TIME_LIMIT_MS },
  );
});

test("without a shared store, a process publishes only events of its own shards, and each event is acked, even after crashes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (todo) => {
      const scenario = new Scenario(() => memoryStore());
      const stale = watchStale(scenario);
      for (const [each, pause] of todo) {
        scenario.take(each);
        await turns(pause);
      }
      await scenario.end();
      expect(stale).toEqual([]);
      const broken = scenario.world.core.report().filter(({ severity }) => severity === "broken");
      expect(broken.filter(({ code }) => code !== "late-ack")).toEqual([]);
    }),
    { numRuns: many(200), interruptAfterTimeLimit: TIME_LIMIT_MS },
  );
});
