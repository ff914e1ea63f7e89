import { status, type ServiceError } from "@grpc/grpc-js";
import { createShares } from "../../runtime/shares";
import { CoreRefusesToken, CoreUnavailable } from "./core-unavailable";
import { Departures } from "./departures";
import {
  Lane,
  type Answer,
  type Call,
  type CallOwners,
  type LaneStream,
  type PendingCall,
  type UnsentCall,
} from "./lane";
import { createLaneLoad, type LaneFailure, type LaneLoad } from "./lane-load";
import { LaneRenewal } from "./lane-renewal";

export interface LanesOptions {
  /** Opens a stream to the core that the load balancing of the gRPC channel selects. */
  open(): LaneStream;
  /** Number of lanes. Each lane is opened by its first call, and then kept open. */
  readonly lanes: number;
  /**
   * Maximum number of pending calls, and maximum total of their bytes. A call that would exceed a maximum is rejected
   * immediately.
   */
  readonly inProgressMax: LanesMax;
  readonly bytesMax: LanesMax;
  readonly deadlineMs: number;
  /** Milliseconds that a poll may wait after the last message was sent, so that polls share a message. */
  readonly pollsEveryMs: number;
  /**
   * Called with core's message when core rejects the token. Later rejections are ignored until core accepts a lane.
   */
  onRefused(why: string): void;
}

/** The maximum for all calls together, for the calls from one address, and for the calls for one workspace. */
export type LanesMax = Readonly<Record<"all" | "address" | "workspace", number>>;

/** Core's statuses for a token that is unknown or lacks the role `edge`. */
const REFUSALS: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED]);
const CHECK_DEADLINES_EVERY_MS = 250;
/** A message with this many calls or bytes is full, and is sent immediately. */
const MESSAGE_CALLS = 32;
const MESSAGE_BYTES = 1_048_576;

/**
 * Carries calls to core over a few long-lived streams (multiplexing). The calls of one turn of the event loop travel
 * together on one lane, with the polls that have waited since earlier turns (see `Departures`). The calls of
 * the next message travel on the next lane, so every core gets a share of the calls.
 *
 * In a turn with many calls, each full message is written immediately, so HTTP/2 sends it at the end of the same turn.
 * HTTP/2 sends a message that is written at the end of a turn only after the next turn. In that time, a busy edge reads
 * a hundred more requests while core is idle.
 *
 * When a lane breaks, the calls that it has sent are rejected immediately: their answers are lost, and their outcome is
 * unknown. The lane is reopened after a pause. Unsent calls are not assigned to a lane yet, so they travel on another
 * lane if one is usable.
 *
 * Before a core stops, it announces the stop. The edge then replaces the lanes to this core, so no call is lost.
 */
export class Lanes {
  readonly #load = createLaneLoad();
  readonly #lanes: Lane[];
  readonly #renewal: LaneRenewal;
  readonly #calls;
  readonly #bodies;
  readonly #deadlines: NodeJS.Timeout;
  readonly #departures: Departures;
  readonly #deadlineMs: number;
  /** The calls of the next message, and the total of their bytes. */
  #unsent: UnsentCall[] = [];
  #unsentBytes = 0;
  #next = 0;
  /** Whether core has rejected the token, and has accepted no lane since then. */
  #isRefused = false;
  #isClosed = false;

  constructor({ open, lanes, inProgressMax, bytesMax, deadlineMs, pollsEveryMs, onRefused }: LanesOptions) {
    this.#deadlineMs = deadlineMs;
    this.#calls = createShares(inProgressMax);
    this.#bodies = createShares(bytesMax);
    const context = {
      open,
      load: this.#load,
      onAccepted: () => void (this.#isRefused = false),
      onError: ({ code, details }: ServiceError) => {
        if (!REFUSALS.has(code) || this.#isRefused) return;
        this.#isRefused = true;
        onRefused(details);
      },
      onEnded: this.#release,
      onClosing: (lane: Lane) => this.#renewal.replaceSoon(lane),
    };
    this.#lanes = Array.from({ length: lanes }, () => new Lane(context));
    this.#renewal = new LaneRenewal(this.#lanes, context);
    this.#departures = new Departures(() => this.#send(), pollsEveryMs);
    this.#deadlines = setInterval(() => {
      const now = performance.now();
      for (const lane of this.#all()) lane.rejectOverdue(now);
    }, CHECK_DEADLINES_EVERY_MS);
  }

  get load(): Readonly<LaneLoad> {
    return this.#load;
  }

  /** Whether a lane is open, so that core can answer calls. */
  get isOpen(): boolean {
    return this.#lanes.some((lane) => lane.isOpen);
  }

  /** Rejects with `CoreUnavailable` when there is no answer. The call may still have taken effect. */
  call(call: Call, bytes: number, traceparent = ""): Promise<Answer> {
    const owners = { address: call.value.sourceAddress, workspace: call.value.workspaceId };
    if (this.#isClosed || !this.#reserve(owners, bytes)) {
      this.#load.failures.full += 1;
      return Promise.reject(new CoreUnavailable("too many calls are pending"));
    }
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.#deadlineMs;
      this.#unsent.push({ pending: { owners, bytes, deadline, resolve, reject }, call, traceparent });
      this.#unsentBytes += bytes;
      this.#departures.add(call);
      if (this.#unsent.length >= MESSAGE_CALLS || this.#unsentBytes >= MESSAGE_BYTES) this.#send();
    });
  }

  /** Resolves when a lane is open, and opens a lane if necessary. Rejects if no lane can be opened now. */
  async greet(): Promise<void> {
    if (this.isOpen) return;
    const lane = this.#isClosed ? undefined : this.#pick();
    if (lane !== undefined && (await lane.connect())) return;
    throw this.#isRefused
      ? new CoreRefusesToken("core rejects the token")
      : new CoreUnavailable("no lane to core");
  }

  /** Replaces all streams with new streams. No call is lost. */
  renew(): void {
    for (const lane of this.#lanes) void this.#renewal.replace(lane);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#deadlines);
    this.#departures.stop();
    for (const { pending } of this.#takeUnsent()) this.#fail(pending, "broken", "the edge is stopping");
    for (const lane of this.#all()) lane.close();
  }

  #all(): readonly Lane[] {
    return [...this.#lanes, ...this.#renewal.furtherLanes];
  }

  #send(): void {
    const calls = this.#takeUnsent();
    if (calls.length === 0) return;
    const lane = this.#pick();
    if (lane !== undefined) return lane.send(calls);
    for (const { pending } of calls) this.#fail(pending, "no-connection", "no connection to core");
  }

  #takeUnsent(): readonly UnsentCall[] {
    const calls = this.#unsent;
    this.#unsent = [];
    this.#unsentBytes = 0;
    return calls;
  }

  /** Returns the next lane that is open or may be opened; undefined while all lanes pause before they reopen. */
  #pick(): Lane | undefined {
    const now = performance.now();
    for (let tries = 0; tries < this.#lanes.length; tries++) {
      const lane = this.#lanes[this.#next++ % this.#lanes.length];
      if (lane?.isUsable(now)) return lane;
    }
    return undefined;
  }

  /** Reserves room for a call until the call ends. Returns false when there is no room. */
  #reserve(owners: CallOwners, bytes: number): boolean {
    if (this.#calls.take(owners) !== undefined) return false;
    if (this.#bodies.take(owners, bytes) !== undefined) {
      this.#calls.release(owners);
      return false;
    }
    this.#load.calls += 1;
    this.#load.bytes += bytes;
    return true;
  }

  readonly #release = (owners: CallOwners, bytes: number): void => {
    this.#calls.release(owners);
    this.#bodies.release(owners, bytes);
    this.#load.calls -= 1;
    this.#load.bytes -= bytes;
  };

  /** Rejects a call that was never sent. */
  #fail({ owners, bytes, reject }: PendingCall, failure: LaneFailure, why: string): void {
    this.#load.failures[failure] += 1;
    this.#release(owners, bytes);
    reject(new CoreUnavailable(why));
  }
}
