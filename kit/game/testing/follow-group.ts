import { shardOf } from "../../../core/domain/shard";
import { streamIdOf } from "../../../core/domain/stream-id";
import { deliveryId } from "../../../core/operations/in-flight";
import type { ReceivedEvent } from "../../../proto/gen/chatbridge/v1/event";
import type { FollowResponse } from "../../../proto/gen/chatbridge/v1/game";
import type { GameClock } from "../clock";
import type { Findings } from "./findings";
import { FollowLine, type HeldEvent } from "./follow-line";
import { spreadShards, type OwnedShard } from "./shard-owners";

/** The number of shards of the installation. */
export const SHARDS = 16;

/** Returns the id that core would give to the log entry of the event at this position. */
export const entryIdAt = (position: number): string => `${position}-0`;

/** Maximum number of unacked events of a group. If there are more, the group loses its oldest undelivered event. */
const BACKLOG_MAX = 10_000;

/** A valid `FollowOpen`. `readOpen` of core/rpc/follow-requests.ts checks one. */
export interface StreamOpen {
  readonly group: string;
  readonly consumer: string;
  readonly window: number;
  readonly ackDeadlineMs: number;
  readonly assignments: boolean;
}

/** Called with each response. Must not throw. */
export type Send = (say: NonNullable<FollowResponse["say"]>) => void;
/** Called when core ends the stream. */
export type End = (code: "ABORTED" | "UNAVAILABLE", details: string) => void;

/** A stream of a consumer. The methods do nothing once the stream has ended. */
export interface MemoryStream {
  readonly streamId: string;
  ack(deliveryIds: readonly string[]): void;
  extend(deliveryIds: readonly string[]): void;
  nack(deliveryIds: readonly string[], delayMs: number): void;
  deadLetter(deliveryId: string, reason: string): void;
  /** Stops deliveries. Acks still work. */
  pause(): void;
  /** Closes the stream, as the consumer would. `end` is not called. */
  close(): void;
}

interface GroupStream {
  readonly open: StreamOpen;
  readonly streamId: string;
  readonly send: Send;
  readonly end: End;
  /** The number of delivered events that are not acked. */
  held: number;
  isPaused: boolean;
  isOver: boolean;
  /**
   * Lines (workspaces) with an event to deliver, in the order of their turns. After its turn, a line moves to the end.
   */
  readonly ready: Set<FollowLine>;
  /** Lines (workspaces) with an event to redeliver. A redelivery needs no room in the window. */
  readonly again: Set<FollowLine>;
  readonly changes: { gained: number[]; lost: number[] };
}

interface GroupShard extends OwnedShard<GroupStream> {
  readonly lines: Set<FollowLine>;
  /** The number of events in the state "out", i.e. delivered and not acked or returned. */
  out: number;
}

export interface GroupContext {
  readonly clock: GameClock;
  readonly findings: Findings;
  /** Returns a number that was not returned before. */
  readonly count: () => number;
  /** Maximum window of every stream; undefined for no maximum. */
  readonly windowMax: () => number | undefined;
}

/** A group of consumers: its unacked events, and the streams that share them. */
export class FollowGroup {
  readonly name: string;
  readonly #context: GroupContext;
  readonly #lines = new Map<string, FollowLine>();
  readonly #shards: readonly GroupShard[];
  /** All unacked events, by delivery id. */
  readonly #events = new Map<string, { readonly line: FollowLine; readonly event: HeldEvent }>();
  /** The open streams, in the order in which they were opened. */
  readonly #streams = new Set<GroupStream>();
  /** The newest event that was delivered. */
  #newest: HeldEvent | undefined;
  #pumping: "no" | "yes" | "again" = "no";
  /** Time from which the group has had no stream, ms since the epoch; undefined while it has a stream. */
  emptySinceMs: number | undefined;

  constructor(name: string, context: GroupContext) {
    this.name = name;
    this.#context = context;
    this.#shards = Array.from({ length: SHARDS }, (_, shard) => ({
      shard,
      owner: undefined,
      next: undefined,
      lines: new Set<FollowLine>(),
      out: 0,
    }));
  }

  append(position: number, received: ReceivedEvent, traceparent: string): void {
    if (this.#events.size >= BACKLOG_MAX) this.#loseOldest();
    const shard = shardOf(received.workspaceId, SHARDS);
    this.#insert({
      position,
      deliveryId: deliveryId(shard, entryIdAt(position)),
      received,
      traceparent,
      attempt: 0,
      state: "waiting",
      deliveredAtMs: 0,
      ranSinceMs: undefined,
    });
    this.#pump();
  }

  open(open: StreamOpen, send: Send, end: End): MemoryStream {
    for (const other of this.#streams) {
      if (other.open.consumer !== open.consumer) continue;
      this.#leave(
        other,
        "ABORTED",
        `a newer stream of the consumer ${open.consumer} has replaced this stream`,
      );
    }
    const token = `00000000-0000-4000-8000-${String(this.#context.count()).padStart(12, "0")}`;
    const stream: GroupStream = {
      open,
      streamId: streamIdOf({ group: this.name, token }),
      send,
      end,
      held: 0,
      isPaused: false,
      isOver: false,
      ready: new Set(),
      again: new Set(),
      changes: { gained: [], lost: [] },
    };
    this.#streams.add(stream);
    this.emptySinceMs = undefined;
    send({ $case: "opened", value: { streamId: stream.streamId, shards: SHARDS } });
    this.#spread();
    return this.#handle(stream);
  }

  /** Ends every stream, as a lost connection would. */
  endStreams(): void {
    // The streams are copied, because a consumer may open a new stream at once.
    const streams = [...this.#streams];
    for (const stream of streams) this.#leave(stream, "UNAVAILABLE", "the connection was lost");
  }

  /** Forgets all events of a workspace. */
  forget(workspaceId: string): void {
    const line = this.#lines.get(workspaceId);
    const ids = line?.events.map((event) => event.deliveryId) ?? [];
    for (const id of ids) this.#drop(id);
    if (this.#newest?.received.workspaceId === workspaceId) this.#newest = undefined;
    this.#pump();
  }

  /** Redelivers the newest event that was delivered. Returns false if no event was delivered. */
  redeliver(): boolean {
    const newest = this.#newest;
    if (newest === undefined) return false;
    const held = this.#events.get(newest.deliveryId);
    if (held) this.#giveBack(held.line, held.event, 0);
    else this.#insert({ ...newest, state: "waiting", ranSinceMs: undefined });
    this.#pump();
    return true;
  }

  /**
   * Whether a stream owns the shard of a workspace, and the delivery (if given) is unacked and has no later attempt.
   */
  isCurrent(
    streamId: string,
    workspaceId: string,
    delivery: { readonly deliveryId: string; readonly attempt: number } | undefined,
  ): boolean {
    if (this.#shards[shardOf(workspaceId, SHARDS)]?.owner?.streamId !== streamId) return false;
    if (delivery === undefined) return true;
    return this.#events.get(delivery.deliveryId)?.event.attempt === delivery.attempt;
  }

  /** Returns the deliveries that are not acked. */
  unacked(): readonly HeldEvent[] {
    return [...this.#events.values()].flatMap(({ event }) => (event.attempt > 0 ? event : []));
  }

  /** The number of events that are not acked, delivered or not. */
  get pending(): number {
    return this.#events.size;
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Delivers the events that a changed `windowMax` allows. Must be called after each change. */
  resume(): void {
    this.#pump();
  }

  /** Cancels all timers. */
  stop(): void {
    for (const line of this.#lines.values()) line.timer?.cancel();
  }

  #handle(stream: GroupStream): MemoryStream {
    const change = (ids: readonly string[], act: (line: FollowLine, event: HeldEvent) => void): void => {
      for (const id of ids) {
        const held = this.#events.get(id);
        const isOwn = held && !stream.isOver && held.event.state !== "waiting";
        if (isOwn && this.#shards[held.line.shard]?.owner === stream) act(held.line, held.event);
      }
      this.#pump();
    };
    const { clock, findings } = this.#context;
    return {
      streamId: stream.streamId,
      ack: (ids) => change(ids, (_, event) => this.#drop(event.deliveryId)),
      extend: (ids) =>
        change(ids, (line, event) => {
          line.extend(event, clock.now(), stream.open.ackDeadlineMs);
          this.#schedule(line);
        }),
      nack: (ids, delayMs) =>
        change(ids, (line, event) => {
          if (event.state === "out") this.#giveBack(line, event, clock.now() + delayMs);
        }),
      deadLetter: (id, reason) =>
        change([id], (line, event) => {
          this.#drop(event.deliveryId);
          findings.add("dead-letter", `delivery ${id} of workspace ${line.workspaceId}: ${reason}`);
        }),
      pause: () => void (stream.isPaused = true),
      close: () => this.#leave(stream),
    };
  }

  #insert(event: HeldEvent): void {
    const { workspaceId } = event.received;
    let line = this.#lines.get(workspaceId);
    if (line === undefined) {
      line = new FollowLine(workspaceId, shardOf(workspaceId, SHARDS));
      this.#lines.set(workspaceId, line);
      this.#shards[line.shard]?.lines.add(line);
    }
    line.insert(event);
    this.#events.set(event.deliveryId, { line, event });
    this.#settle(line);
  }

  /** Removes an event that was acked or is lost. */
  #drop(id: string): void {
    const held = this.#events.get(id);
    if (held === undefined) return;
    const { line, event } = held;
    this.#setState(line, event, "waiting");
    this.#events.delete(id);
    line.remove(event);
    this.#settle(line);
    if (line.events.length > 0) return;
    line.timer?.cancel();
    this.#lines.delete(line.workspaceId);
    this.#shards[line.shard]?.lines.delete(line);
  }

  #loseOldest(): void {
    for (const [id, { event }] of this.#events) {
      if (event.state !== "waiting") continue;
      this.#context.findings.add("lost-backlog", `the group ${this.name} had ${BACKLOG_MAX} unacked events`);
      return this.#drop(id);
    }
  }

  /** Marks an event and all later delivered events of its workspace for redelivery, at `untilMs` at the earliest. */
  #giveBack(line: FollowLine, event: HeldEvent, untilMs: number): void {
    for (const each of line.outFrom(event)) this.#setState(line, each, "back");
    if (untilMs > this.#context.clock.now()) line.hold = { position: event.position, untilMs };
    this.#settle(line);
  }

  #setState(line: FollowLine, event: HeldEvent, state: HeldEvent["state"]): void {
    const shard = this.#shards[line.shard];
    if (shard === undefined || event.state === state) return;
    if (event.state === "out") shard.out -= 1;
    if (state === "out") shard.out += 1;
    if (shard.owner && event.state === "waiting") shard.owner.held += 1;
    if (shard.owner && state === "waiting") shard.owner.held -= 1;
    event.state = state;
  }

  /** Must be called after each change of a line. */
  #settle(line: FollowLine): void {
    const shard = this.#shards[line.shard];
    const now = this.#context.clock.now();
    const { owner, next } = shard ?? {};
    if (next) this.#hurry(line);
    line.settle(now, owner?.open.ackDeadlineMs ?? 0);
    this.#schedule(line);
    if (owner === undefined || next !== undefined) return;
    const first = line.next(now);
    if (first) owner[first.state === "back" ? "again" : "ready"].add(line);
  }

  /**
   * Marks events of a moving shard as given back if they have waited behind other events for the whole ack deadline.
   */
  #hurry(line: FollowLine): void {
    const sinceMs = this.#context.clock.now() - this.#deadlineOf(line);
    const late = line.events.find(
      ({ state, deliveredAtMs }, i) => i > 0 && state === "out" && deliveredAtMs <= sinceMs,
    );
    if (late) for (const each of line.outFrom(late)) this.#setState(line, each, "back");
  }

  #deadlineOf(line: FollowLine): number {
    return this.#shards[line.shard]?.owner?.open.ackDeadlineMs ?? 0;
  }

  /** Sets the line's timer to the next time at which a deadline or a delay ends. An early timer has no effect. */
  #schedule(line: FollowLine): void {
    const { running, hold, events, shard } = line;
    let atMs = Math.min(running?.deadlineMs ?? Infinity, hold?.untilMs ?? Infinity);
    if (this.#shards[shard]?.next) {
      for (const { state, deliveredAtMs } of events.slice(1)) {
        if (state === "out") atMs = Math.min(atMs, deliveredAtMs + this.#deadlineOf(line));
      }
    }
    if (line.timer && line.timer.atMs <= atMs) return;
    line.timer?.cancel();
    line.timer = undefined;
    if (atMs === Infinity) return;
    line.timer = { atMs, cancel: this.#context.clock.at(atMs, () => this.#wake(line)) };
  }

  #wake(line: FollowLine): void {
    line.timer = undefined;
    const now = this.#context.clock.now();
    const { running } = line;
    if (running && running.deadlineMs <= now) {
      const { deliveryId, attempt } = running.event;
      const where = `delivery ${deliveryId} of workspace ${line.workspaceId}, attempt ${attempt}`;
      this.#context.findings.add("late-ack", `${where}, had no ack within ${this.#deadlineOf(line)} ms`);
      for (const each of line.outFrom(running.event)) this.#setState(line, each, "back");
    }
    this.#settle(line);
    this.#pump();
  }

  #leave(stream: GroupStream, code?: "ABORTED" | "UNAVAILABLE", details = ""): void {
    if (stream.isOver) return;
    stream.isOver = true;
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.emptySinceMs = this.#context.clock.now();
    for (const shard of this.#shards) if (shard.owner === stream) this.#pass(shard, shard.next);
    if (code !== undefined) stream.end(code, details);
    this.#spread();
  }

  #spread(): void {
    const free = new Set(this.#shards.filter(({ owner }) => owner === undefined));
    spreadShards(this.#shards, [...this.#streams]);
    for (const shard of this.#shards) {
      if (free.has(shard) && shard.owner) {
        const { owner } = shard;
        shard.owner = undefined;
        this.#pass(shard, owner);
      }
      for (const line of shard.lines) this.#settle(line);
    }
    this.#pump();
  }

  /** Makes another stream, or no stream, the owner of a shard. */
  #pass(shard: GroupShard, to: GroupStream | undefined): void {
    if (shard.owner && !shard.owner.isOver) shard.owner.changes.lost.push(shard.shard);
    for (const line of shard.lines) {
      for (const event of line.events) this.#setState(line, event, "waiting");
      line.hold = undefined;
      line.running = undefined;
    }
    shard.owner = to;
    shard.next = undefined;
    to?.changes.gained.push(shard.shard);
    for (const line of shard.lines) this.#settle(line);
  }

  /** Moves the shards that can move, and delivers the events that the windows allow. */
  #pump(): void {
    if (this.#pumping !== "no") {
      this.#pumping = "again";
      return;
    }
    do {
      this.#pumping = "yes";
      for (const shard of this.#shards) if (shard.next && shard.out === 0) this.#pass(shard, shard.next);
      // A stream loses a shard before another stream gains the shard.
      for (const stream of this.#streams) this.#assign(stream, "lost");
      for (const stream of this.#streams) this.#assign(stream, "gained");
      for (const stream of this.#streams) this.#deliverTo(stream);
    } while (this.#isPumpedAgain());
    this.#pumping = "no";
  }

  /** Whether `#pump` was called during the last round. */
  #isPumpedAgain(): boolean {
    return this.#pumping === "again";
  }

  #assign({ changes, open, send, isOver }: GroupStream, change: "gained" | "lost"): void {
    const shards = changes[change].splice(0);
    if (shards.length === 0 || !open.assignments || isOver) return;
    send({ $case: "assignment", value: { gained: [], lost: [], [change]: shards } });
  }

  #deliverTo(stream: GroupStream): void {
    while (!stream.isPaused && !stream.isOver && this.#pumping === "yes") {
      const { again, ready, open, held } = stream;
      const window = Math.min(open.window, this.#context.windowMax() ?? Infinity);
      const [line] = again.size > 0 ? again : held < window ? ready : [];
      if (line === undefined) return;
      again.delete(line);
      ready.delete(line);
      const shard = this.#shards[line.shard];
      const event = line.next(this.#context.clock.now());
      if (event === undefined || shard?.owner !== stream || shard.next) continue;
      if (event.state === "waiting" && held >= window) {
        ready.add(line);
        continue;
      }
      this.#deliver(stream, line, event);
    }
  }

  #deliver(stream: GroupStream, line: FollowLine, event: HeldEvent): void {
    this.#setState(line, event, "out");
    event.attempt += 1;
    event.deliveredAtMs = this.#context.clock.now();
    event.ranSinceMs = undefined;
    if (event.position >= (this.#newest?.position ?? 0)) this.#newest = event;
    this.#settle(line);
    const { deliveryId, attempt, received, traceparent } = event;
    const value = { deliveryId, attempt, received, traceparent, shard: line.shard };
    stream.send({ $case: "delivery", value });
  }
}
