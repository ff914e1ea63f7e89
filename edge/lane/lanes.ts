import { status, type ServiceError } from "@grpc/grpc-js";
import {
  LaneFault,
  type LaneAnswer,
  type LaneCall,
  type LaneResponse,
} from "../../proto/gen/chatbridge/v1/bridge";
import { createShares } from "../../runtime/shares";
import { CoreRefusesToken, CoreUnavailable } from "./core-unavailable";
import { idleLane, whenOver, type Lane, type LaneStream } from "./lane";
import { createLaneLoad, type LaneFailure, type LaneLoad } from "./lane-load";

export type Call = NonNullable<LaneCall["call"]>;
export type Answer = Exclude<NonNullable<LaneAnswer["answer"]>, { $case: "fault" }>;

export interface LanesOptions {
  /** Opens a stream to the core that the load balancing of the gRPC channel selects. */
  open(): LaneStream;
  /** Number of lanes. Each lane is opened by its first call, and then kept open. */
  readonly lanes: number;
  /**
   * Maximum number of pending calls, and maximum of their total bytes, for all senders and for one. A call that would
   * exceed a maximum is rejected immediately.
   */
  readonly inProgressMax: LanesMax;
  readonly bytesMax: LanesMax;
  readonly deadlineMs: number;
  /**
   * Called with core's message when core rejects the token. Later rejections are ignored until core accepts a lane.
   */
  onRefused(why: string): void;
}

/** The maximum of all calls, of the calls from one address, and of the calls for one workspace. */
export type LanesMax = Readonly<Record<"all" | "address" | "workspace", number>>;

export type Lanes = ReturnType<typeof createLanes>;

interface Waiting {
  readonly lane: Lane;
  readonly bytes: number;
  readonly deadline: number;
  release(): void;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Core's statuses for a token that is unknown or lacks the role `edge`. */
const REFUSALS: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED]);
const REOPEN_MIN_MS = 50;
const REOPEN_MAX_MS = 1_000;
const CHECK_DEADLINES_EVERY_MS = 250;
const NUMBERS = 2 ** 32;
/** A message with this many calls or bytes is full, and is written immediately. */
const MESSAGE_CALLS = 32;
const MESSAGE_BYTES = 1_048_576;

/**
 * Carries calls to core over a few long-lived streams. The calls of one turn of the
 * event loop travel together on one lane, and the calls of the next turn on the next
 * lane. So every core gets a share of the calls.
 *
 * In a turn with many calls, each full message is written immediately, not at the end of
 * the turn. HTTP/2 sends such a message at the end of the turn. But a message that is
 * written only at the end of a turn is sent after the next turn. By then, a busy edge has read a
 * hundred more requests, and core has been idle.
 *
 * When a lane breaks, its pending calls are rejected immediately: their answers are lost,
 * and their outcome is unknown. The lane is reopened after a pause, which grows with each
 * failure.
 *
 * A core that stops announces its stop, so that the edge replaces its lanes, and no call is lost.
 */
export function createLanes({ open, lanes, inProgressMax, bytesMax, deadlineMs, onRefused }: LanesOptions) {
  const all: Lane[] = Array.from({ length: lanes }, idleLane);
  /** Other lanes with a stream: retired lanes, and lanes that will replace a lane. */
  const further = new Set<Lane>();
  /** Pending calls by number, in the order of their deadlines. */
  const inProgress = new Map<number, Waiting>();
  const calls = createShares(inProgressMax);
  const bodies = createShares(bytesMax);
  const load = createLaneLoad();
  /** Whether core has rejected the token, and has accepted no lane since. */
  let isRefused = false;
  let lastNumber = 0;
  let turn: { readonly lane: Lane; readonly calls: LaneCall[]; bytes: number } | undefined;
  let next = 0;
  let closed = false;
  const deadlines = setInterval(rejectOverdue, CHECK_DEADLINES_EVERY_MS);

  /** Returns the function that releases the room of a call; undefined when there is no room. */
  function acquire({ value: { workspaceId, sourceAddress } }: Call, bytes: number): (() => void) | undefined {
    const owners = { address: sourceAddress, workspace: workspaceId };
    const releaseCall = calls.acquire(owners);
    if (typeof releaseCall === "string") return undefined;
    const releaseBytes = bodies.acquire(owners, bytes);
    if (typeof releaseBytes !== "string") {
      return () => {
        releaseCall();
        releaseBytes();
      };
    }
    releaseCall();
    return undefined;
  }

  function settle(number: number): Waiting | undefined {
    const waiting = inProgress.get(number);
    if (waiting !== undefined) {
      inProgress.delete(number);
      load.calls -= 1;
      load.bytes -= waiting.bytes;
      waiting.lane.calls -= 1;
      waiting.release();
      if (waiting.lane.isRetired) closeRetired(waiting.lane);
    }
    return waiting;
  }

  function fail(number: number, failure: LaneFailure, error: Error): void {
    load.failures[failure] += 1;
    settle(number)?.reject(error);
  }

  /** Counts a failure, and rejects a call that was never sent. */
  async function refuse(failure: LaneFailure, why: string): Promise<never> {
    load.failures[failure] += 1;
    throw new CoreUnavailable(why);
  }

  function rejectOverdue(): void {
    const now = performance.now();
    for (const [number, { deadline }] of inProgress) {
      if (deadline > now) return;
      fail(number, "late", new CoreUnavailable("no answer in time"));
    }
  }

  /** Returns the next lane that is open or may be opened; undefined while all lanes must rest. */
  function pick(): Lane | undefined {
    const now = performance.now();
    for (let tries = 0; tries < all.length; tries++) {
      const lane = all[next++ % all.length];
      if (lane !== undefined && (lane.state.name !== "resting" || lane.state.until <= now)) return lane;
    }
    return undefined;
  }

  function streamOf(lane: Lane): LaneStream {
    if ("stream" in lane.state) return lane.state.stream;
    const stream = open();
    lane.state = { name: "opening", stream };
    load.open += 1;
    load.opened += 1;
    stream.on("data", ({ answers, closing }: LaneResponse) => {
      lane.failures = 0;
      for (const { number, answer } of answers) receive(number, answer);
      if (closing) replaceSoon(lane);
    });
    stream.on("metadata", () => {
      if (isOn(lane, stream)) lane.state = { name: "open", stream };
      isRefused = false;
    });
    stream.on("error", ({ code, details }: ServiceError) => {
      if (!REFUSALS.has(code) || isRefused) return;
      isRefused = true;
      onRefused(details);
    });
    whenOver(stream, () => breakLane(lane, stream));
    return stream;
  }

  function isOn(lane: Lane, stream: LaneStream): boolean {
    return "stream" in lane.state && lane.state.stream === stream;
  }

  function receive(number: number, answer: LaneAnswer["answer"]): void {
    if (!inProgress.has(number)) return; // The answer is too late.
    if (answer === undefined) fail(number, "core-fault", new Error("core sent an empty answer"));
    else if (answer.$case !== "fault") settle(number)?.resolve(answer);
    else if (answer.value === LaneFault.UNAVAILABLE)
      fail(number, "store-away", new CoreUnavailable("core cannot reach its store"));
    else fail(number, "core-fault", new Error("core answered with a fault"));
  }

  /**
   * Replaces a lane by a successor as soon as core has accepted the successor's stream. A core that closes its connection
   * may lose calls on a stream that it has not accepted yet, so the lane keeps its calls until then.
   */
  function replace(lane: Lane): void {
    if (closed || lane.isReplaced || !all.includes(lane) || !("stream" in lane.state)) return;
    lane.isReplaced = true;
    const successor = idleLane();
    let isDecided = false;
    const stream = streamOf(successor);
    further.add(successor);
    stream.once("metadata", () => {
      isDecided = true;
      succeed(lane, successor);
    });
    whenOver(stream, () => {
      if (isDecided) return;
      isDecided = true;
      lane.isReplaced = false;
      replaceSoon(lane);
    });
  }

  /** The pause limits the attempts while no other core accepts lanes. A stopping core waits longer than this pause. */
  function replaceSoon(lane: Lane): void {
    setTimeout(replace, REOPEN_MIN_MS, lane).unref();
  }

  function succeed(lane: Lane, successor: Lane): void {
    // Core still makes the calls of this turn.
    if (turn?.lane === lane) flush();
    further.delete(successor);
    all[all.indexOf(lane)] = successor;
    lane.isRetired = true;
    if ("stream" in lane.state) further.add(lane);
    closeRetired(lane);
  }

  function closeRetired({ state, calls }: Lane): void {
    if (calls === 0 && "stream" in state) state.stream.end();
  }

  function breakLane(lane: Lane, stream: LaneStream): void {
    if (!isOn(lane, stream)) return;
    const pauseMs = Math.min(REOPEN_MAX_MS, REOPEN_MIN_MS * 2 ** lane.failures);
    lane.state = { name: "resting", until: performance.now() + pauseMs };
    lane.failures += 1;
    further.delete(lane);
    load.open -= 1;
    stream.cancel();
    // The loop below also rejects the calls that are not yet sent, so they must not be sent later.
    if (turn?.lane === lane) turn = undefined;
    for (const [number, waiting] of inProgress) {
      if (waiting.lane === lane) fail(number, "broken", new CoreUnavailable("the connection to core broke"));
    }
  }

  function flush(): void {
    if (turn === undefined) return;
    const { lane, calls } = turn;
    turn = undefined;
    if (!closed) streamOf(lane).write({ calls });
  }

  function noLane(): CoreUnavailable {
    return isRefused
      ? new CoreRefusesToken("core rejects the token")
      : new CoreUnavailable("no lane to core");
  }

  function isOpen(): boolean {
    return all.some(({ state }) => state.name === "open");
  }

  /** Resolves when a lane is open, and opens a lane if necessary. Rejects if no lane can be opened now. */
  async function greet(): Promise<void> {
    if (isOpen()) return;
    const lane = closed ? undefined : pick();
    if (lane === undefined) throw noLane();
    const stream = streamOf(lane);
    await new Promise<void>((resolve, reject) => {
      const refuse = (): void => reject(noLane());
      stream.once("metadata", () => resolve());
      whenOver(stream, refuse);
    });
  }

  return {
    load: load as Readonly<LaneLoad>,
    greet,
    /** Whether a lane is open, so that core can answer calls. */
    isOpen,
    /** Rejects with `CoreUnavailable` when there is no answer. The call may still have taken effect. */
    call(call: Call, bytes: number, traceparent = ""): Promise<Answer> {
      const release = closed ? undefined : acquire(call, bytes);
      if (release === undefined) return refuse("full", "too many calls are pending");
      if (turn === undefined) {
        const lane = pick();
        if (lane === undefined) {
          release();
          return refuse("no-connection", "no connection to core");
        }
        turn = { lane, calls: [], bytes: 0 };
        setImmediate(flush);
      }
      const { lane, calls: next } = turn;
      turn.bytes += bytes;
      lastNumber = (lastNumber + 1) % NUMBERS;
      const number = lastNumber;
      next.push({ number, call, traceparent });
      lane.calls += 1;
      load.calls += 1;
      load.bytes += bytes;
      const answer = new Promise<Answer>((resolve, reject) => {
        inProgress.set(number, {
          lane,
          bytes,
          deadline: performance.now() + deadlineMs,
          release,
          resolve,
          reject,
        });
      });
      if (next.length >= MESSAGE_CALLS || turn.bytes >= MESSAGE_BYTES) flush();
      return answer;
    },
    /** Replaces all streams by new streams, without losing a call. */
    renew(): void {
      for (const lane of all) replace(lane);
    },
    close(): void {
      closed = true;
      clearInterval(deadlines);
      for (const lane of [...all, ...further]) {
        if ("stream" in lane.state) breakLane(lane, lane.state.stream);
      }
      // The remaining calls wait for the end of their turn, on a lane that has no stream yet.
      for (const number of inProgress.keys())
        fail(number, "broken", new CoreUnavailable("the edge is stopping"));
    },
  };
}
