import * as fc from "fast-check";
import { shardOf } from "../../../../core/domain/shard";
import type { FollowResponse } from "../../../../proto/gen/chatbridge/v1/game";
import { many } from "../../../../test/harness/for-all";
import { MemoryCore, SHARDS, type MemoryStream } from "../../testing/memory-core";
import { VirtualClock } from "../../testing/virtual-clock";

const ACK_DEADLINE_MS = 10_000;
const WINDOW = 4;
const WORKSPACES = [0, 1, 2, 3].map((i) => `00000000-0000-4000-8000-00000000000${i}`);
const CONSUMERS = ["a", "b", "c"];

type Step =
  | { readonly do: "type"; readonly workspace: string }
  | { readonly do: "open" | "close"; readonly consumer: string }
  /** `at` is an index of the deliveries of the consumer's stream. */
  | { readonly do: "ack" | "extend"; readonly consumer: string; readonly at: number }
  | { readonly do: "nack"; readonly consumer: string; readonly at: number; readonly delayMs: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "slow"; readonly window: number | undefined }
  | { readonly do: "cut" | "redeliver" };

const consumer = fc.constantFrom(...CONSUMERS);
const at = fc.nat(8);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("type"), workspace: fc.constantFrom(...WORKSPACES) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("ack"), consumer, at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("open"), consumer }) },
  fc.record({ do: fc.constant("close"), consumer }),
  fc.record({ do: fc.constant("extend"), consumer, at }),
  fc.record({ do: fc.constant("nack"), consumer, at, delayMs: fc.constantFrom(0, 500, 20_000) }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.constantFrom(1, 500, 6_000, 10_000) }),
  },
  fc.record({ do: fc.constant("slow"), window: fc.constantFrom(1, undefined) }),
  fc.record({ do: fc.constantFrom("cut", "redeliver") }),
);

interface Sent {
  readonly id: string;
  readonly workspace: string;
  /** The event's number within its workspace. */
  readonly position: number;
  attempt: number;
  isAcked: boolean;
  /** The stream to which the event was delivered and not yet acked; undefined for none. */
  on: Follower | undefined;
  /** Whether the stream has returned the event to core. */
  isBack: boolean;
  /** Whether the event may be delivered after its ack. */
  isRepeated: boolean;
  deliveredAtMs: number;
  /**
   * The deadline of the event, and the time from which a deadline has been running. Only the first event of a workspace
   * has a deadline.
   */
  deadline: { readonly sinceMs: number; readonly atMs: number } | undefined;
}

interface Follower {
  readonly owned: Set<number>;
  /** The ids of the events that the stream got, newest last. */
  readonly got: string[];
  isOpen: boolean;
  stream: MemoryStream | undefined;
}

/** Drives a core, and checks each delivery. */
class Checked {
  readonly clock = new VirtualClock();
  readonly core = new MemoryCore(this.clock);
  readonly followers = new Map<string, Follower>();
  readonly #events = new Map<string, Sent>();
  readonly #typed = new Map<string, number>(WORKSPACES.map((id) => [id, 0]));

  constructor() {
    for (const id of WORKSPACES) this.core.addWorkspace(id);
    this.open("a");
  }

  take(step: Step): void {
    switch (step.do) {
      case "type":
        return this.#type(step.workspace);
      case "open":
        return this.open(step.consumer);
      case "close": {
        const follower = this.followers.get(step.consumer);
        if (!follower?.isOpen || this.#open.length === 1) return;
        this.#end(follower);
        return follower.stream?.close();
      }
      case "pass":
        return this.clock.advance(step.ms);
      case "slow":
        return this.core.setSlow(step.window);
      case "cut":
        this.core.endStreams();
        return this.open("a");
      case "redeliver":
        return this.#redeliver();
      case "ack":
      case "extend":
      case "nack":
        return this.#answer(step);
    }
  }

  open(name: string): void {
    const before = this.followers.get(name);
    const follower: Follower = { owned: new Set(), got: [], isOpen: true, stream: undefined };
    // The new stream gets the events of the old stream at once.
    if (before?.isOpen) this.#end(before);
    this.followers.set(name, follower);
    follower.stream = this.core.openStream(
      { group: "g", consumer: name, window: WINDOW, ackDeadlineMs: ACK_DEADLINE_MS, assignments: true },
      (say) => this.#hear(follower, say),
      () => this.#end(follower),
    );
  }

  /** Acks everything until nothing is left, and checks that every event was delivered. */
  finish(): void {
    this.core.setSlow(undefined);
    for (let round = 0; round < 200; round++) {
      for (const follower of this.#open) {
        const ids = follower.got.filter((id) => this.#events.get(id)?.on === follower);
        for (const id of ids) this.#ack(follower, id);
      }
      this.clock.advance(1_000);
    }
    const typed = [...this.#typed.values()].reduce((sum, count) => sum + count, 0);
    const acked = [...this.#events.values()].filter(({ isAcked }) => isAcked);
    expect(acked).toHaveLength(typed);
    const owners = Array.from(
      { length: SHARDS },
      (_, shard) => this.#open.filter(({ owned }) => owned.has(shard)).length,
    );
    expect(new Set(owners)).toEqual(new Set([1]));
  }

  get #open(): readonly Follower[] {
    return [...this.followers.values()].filter(({ isOpen }) => isOpen);
  }

  #type(workspace: string): void {
    const position = this.#typed.get(workspace) ?? 0;
    this.#typed.set(workspace, position + 1);
    const kind = { $case: "message", value: { text: `${position}` } } as const;
    this.core.receive(workspace, { channel: { id: "room" }, user: { id: "ada" }, kind });
  }

  #answer(step: Extract<Step, { do: "ack" | "extend" | "nack" }>): void {
    const follower = this.followers.get(step.consumer);
    const id = follower?.got.at(-1 - step.at);
    if (follower === undefined || id === undefined) return;
    if (step.do === "ack") return this.#ack(follower, id);
    const event = this.#events.get(id);
    if (!("delayMs" in step)) {
      if (event?.on === follower) this.#extend(event);
      return follower.stream?.extend([id]);
    }
    if (event?.on === follower && !event.isBack) this.#giveBackFrom(event);
    follower.stream?.nack([id], step.delayMs);
  }

  #ack(follower: Follower, id: string): void {
    const event = this.#events.get(id);
    if (event?.on === follower) {
      event.isAcked = true;
      event.isRepeated = false;
      event.on = undefined;
      const next = this.#firstOf(follower, event.workspace);
      if (next) next.deadline ??= this.#deadline();
    }
    follower.stream?.ack([id]);
  }

  #extend(event: Sent): void {
    const { deadline, isBack } = event;
    if (deadline === undefined || isBack || deadline.atMs <= this.clock.now()) return;
    event.deadline = this.#deadline(deadline.sinceMs);
  }

  #deadline(sinceMs = this.clock.now()): Sent["deadline"] {
    return { sinceMs, atMs: this.clock.now() + ACK_DEADLINE_MS };
  }

  /** Returns the first unacked event of a workspace among the events that were delivered to the stream. */
  #firstOf(follower: Follower | undefined, workspace: string): Sent | undefined {
    const [first] = [...this.#events.values()]
      .filter((each) => each.on === follower && each.workspace === workspace)
      .toSorted((a, b) => a.position - b.position);
    return first;
  }

  #redeliver(): void {
    const number = ({ id }: Sent): number => Number(/:(\d+)-/.exec(id)?.[1]);
    const [newest] = [...this.#events.values()].toSorted((a, b) => number(b) - number(a));
    if (newest) {
      newest.isRepeated = true;
      this.#giveBackFrom(newest);
    }
    expect(this.core.redeliver()).toBe(newest !== undefined);
  }

  #giveBackFrom({ workspace, position }: Sent): void {
    for (const each of this.#events.values()) {
      if (each.workspace === workspace && each.position >= position) each.isBack = true;
    }
  }

  #end(follower: Follower): void {
    follower.isOpen = false;
    follower.owned.clear();
    for (const event of this.#events.values()) if (event.on === follower) event.on = undefined;
  }

  #hear(follower: Follower, say: NonNullable<FollowResponse["say"]>): void {
    expect(follower.isOpen).toBe(true);
    if (say.$case === "assignment") {
      for (const shard of say.value.lost) this.#lose(follower, shard);
      for (const shard of say.value.gained) {
        expect(this.#open.some(({ owned }) => owned.has(shard))).toBe(false);
        follower.owned.add(shard);
      }
    }
    if (say.$case !== "delivery") return;
    const { deliveryId, attempt, received, shard } = say.value;
    const kind = received?.event?.kind;
    if (kind?.$case !== "message" || received === undefined) throw new Error("no such event was typed");
    expect(follower.owned.has(shard)).toBe(true);
    this.#deliver(follower, deliveryId, received.workspaceId, Number(kind.value.text), attempt);
  }

  #lose(follower: Follower, shard: number): void {
    expect(follower.owned.delete(shard)).toBe(true);
    for (const event of this.#events.values()) {
      if (event.on !== follower || shardOf(event.workspace, SHARDS) !== shard) continue;
      // A shard moves only when the old stream may no longer handle any event of the shard.
      expect(event.isBack || this.#isLate(event)).toBe(true);
      event.on = undefined;
    }
  }

  #deliver(follower: Follower, id: string, workspace: string, position: number, attempt: number): void {
    const before = this.#events.get(id);
    expect(attempt).toBe((before?.attempt ?? 0) + 1);
    if (before?.on !== undefined) {
      expect(before.on).toBe(follower);
      expect(before.isBack || this.#isLate(before)).toBe(true);
    }
    const event: Sent = before ?? {
      id,
      workspace,
      position,
      attempt,
      isAcked: false,
      on: undefined,
      isBack: false,
      isRepeated: false,
      deliveredAtMs: 0,
      deadline: undefined,
    };
    if (event.isAcked) expect(event.isRepeated).toBe(true);
    Object.assign(event, { attempt, on: follower, isBack: false, deliveredAtMs: this.clock.now() });
    this.#events.set(id, event);
    event.deadline = this.#firstOf(follower, workspace) === event ? this.#deadline() : undefined;
    follower.got.push(id);
    this.#checkOrder(follower, event);
    const held = [...this.#events.values()].filter(({ on }) => on === follower);
    expect(held.length).toBeLessThanOrEqual(WINDOW);
  }

  /** Checks that all earlier unacked events of the workspace are at this stream, and were not returned to core. */
  #checkOrder(follower: Follower, { workspace, position }: Sent): void {
    const earlier = [...this.#events.values()].filter(
      (each) => each.workspace === workspace && each.position < position,
    );
    expect(earlier).toHaveLength(position);
    for (const each of earlier) if (!each.isAcked) expect(each.on === follower && !each.isBack).toBe(true);
  }

  /**
   * Whether core has taken the event back. Core does so if the deadline of the workspace's first event has passed. In a
   * shard that moves, core also does so if the event or an earlier event has waited for a whole ack deadline.
   */
  #isLate(event: Sent): boolean {
    const { workspace, position, on } = event;
    const nowMs = this.clock.now();
    const first = this.#firstOf(on, workspace);
    const late = [...this.#events.values()].find((each) => {
      if (each.workspace !== workspace || each.position > position || each.on !== on) return false;
      // The first event may have waited behind others for a whole deadline before it became the first.
      const untilMs = each === first ? (each.deadline?.sinceMs ?? NaN) : nowMs;
      if (each === first && (each.deadline?.atMs ?? NaN) <= nowMs) return true;
      return each.deliveredAtMs <= untilMs - ACK_DEADLINE_MS;
    });
    if (late) this.#giveBackFrom(late);
    return late !== undefined;
  }
}

const [first, , , last] = WORKSPACES as [string, string, string, string];
/** The shard of `last` begins to move to c, and its third event waits for a whole ack deadline behind the second. */
const WAITED_IN_A_MOVING_SHARD: Step[] = [
  { do: "type", workspace: last },
  { do: "type", workspace: last },
  { do: "redeliver" },
  { do: "type", workspace: first },
  { do: "type", workspace: last },
  { do: "pass", ms: 6_000 },
  { do: "ack", consumer: "a", at: 4 },
  { do: "open", consumer: "c" },
  { do: "pass", ms: 6_000 },
  { do: "open", consumer: "c" },
];

it("delivers every event of a workspace in order, at least once, and to one stream at a time", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const checked = new Checked();
      for (const each of steps) checked.take(each);
      checked.finish();
    }),
    { numRuns: many(100), examples: [[WAITED_IN_A_MOVING_SHARD]] },
  );
});
