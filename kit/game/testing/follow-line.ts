import type { ReceivedEvent } from "../../../proto/gen/chatbridge/v1/event";

/** An event that a group has not acked. */
export interface HeldEvent {
  /** The number of the event: later events have higher numbers. */
  readonly position: number;
  readonly deliveryId: string;
  readonly received: ReceivedEvent;
  readonly traceparent: string;
  /** Number of deliveries of the event. */
  attempt: number;
  /**
   * "waiting": not delivered to the current stream. "out": delivered. "back": to be redelivered, because the consumer
   * gave it back or its deadline passed; it still counts towards the stream's window.
   */
  state: "waiting" | "out" | "back";
  /** The time of the last delivery. */
  deliveredAtMs: number;
  /** The time at which the deadline of the last delivery first began to run. */
  ranSinceMs: number | undefined;
}

/** An event can be extended for this long after its deadline first began to run. */
const EXTEND_WITHIN_MS = 600_000;

/**
 * The unacked events of one workspace in a group. The delivered events come first, because events are delivered in
 * order, and an event is given back together with all later events.
 */
export class FollowLine {
  readonly workspaceId: string;
  readonly shard: number;
  /** Events in the order of their positions. */
  readonly events: HeldEvent[] = [];
  /** The first event, while its deadline runs. */
  running: { readonly event: HeldEvent; readonly deadlineMs: number } | undefined;
  /** The consumer gave back the event at this position and all later events, which wait until `untilMs`. */
  hold: { readonly position: number; readonly untilMs: number } | undefined;
  timer: { readonly atMs: number; readonly cancel: () => void } | undefined;

  constructor(workspaceId: string, shard: number) {
    this.workspaceId = workspaceId;
    this.shard = shard;
  }

  insert(event: HeldEvent): void {
    let at = this.events.length;
    while (at > 0 && (this.events[at - 1]?.position ?? 0) > event.position) at--;
    this.events.splice(at, 0, event);
  }

  remove(event: HeldEvent): void {
    const at = this.events.indexOf(event);
    if (at >= 0) this.events.splice(at, 1);
  }

  /** Returns the next event to deliver; undefined if there is none, or if `hold` delays the event. */
  next(nowMs: number): HeldEvent | undefined {
    const next = this.events.find(({ state }) => state !== "out");
    const isHeld = next && this.hold && nowMs < this.hold.untilMs && next.position >= this.hold.position;
    return isHeld ? undefined : next;
  }

  /** Returns those of an event and all later events whose state is "out". */
  outFrom(event: HeldEvent): readonly HeldEvent[] {
    return this.events.slice(this.events.indexOf(event)).filter(({ state }) => state === "out");
  }

  /** Must be called after each change. Starts the deadline of an event that has become the first. */
  settle(nowMs: number, ackDeadlineMs: number): void {
    const [first] = this.events;
    const last = this.events.at(-1);
    if (
      this.hold &&
      (nowMs >= this.hold.untilMs || last === undefined || last.position < this.hold.position)
    ) {
      this.hold = undefined;
    }
    if (first?.state !== "out") this.running = undefined;
    else if (this.running?.event !== first || first.ranSinceMs === undefined)
      this.#start(first, nowMs, ackDeadlineMs);
  }

  extend(event: HeldEvent, nowMs: number, ackDeadlineMs: number): void {
    if (this.running?.event !== event) return;
    if (nowMs - (event.ranSinceMs ?? 0) <= EXTEND_WITHIN_MS) this.#start(event, nowMs, ackDeadlineMs);
  }

  #start(event: HeldEvent, nowMs: number, ackDeadlineMs: number): void {
    event.ranSinceMs ??= nowMs;
    this.running = { event, deadlineMs: nowMs + ackDeadlineMs };
  }
}
