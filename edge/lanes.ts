import { status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import {
  LaneFault,
  type LaneAnswer,
  type LaneCall,
  type LaneRequest,
  type LaneResponse,
} from "../proto/gen/chatbridge/v1/bridge";
import { CoreRefusesToken, CoreUnavailable } from "./core-unavailable";
import { createLaneLoad, type LaneFailure, type LaneLoad } from "./lane-load";

type LaneStream = ClientDuplexStream<LaneRequest, LaneResponse>;
export type Call = NonNullable<LaneCall["call"]>;
export type Answer = Exclude<NonNullable<LaneAnswer["answer"]>, { $case: "fault" }>;

export interface LanesOptions {
  /** Opens a stream to core; the channel's load balancing says to which. */
  open(): LaneStream;
  /** How many streams are kept open. */
  readonly lanes: number;
  /** Calls that may be under way at once, and their bytes; what comes on top is refused at once. */
  readonly underWayMax: number;
  readonly bytesMax: number;
  readonly deadlineMs: number;
  /** Told in core's words when it refuses the token, once until it takes a lane on. */
  onRefused(why: string): void;
}

export interface Lanes {
  readonly load: Readonly<LaneLoad>;
  /** Resolves once core has taken a lane on, which is opened where none stands; rejects when it does not. */
  greet(): Promise<void>;
  /** Rejects with CoreUnavailable when there is no answer: what became of the call is then unknown. */
  call(call: Call, bytes: number): Promise<Answer>;
  close(): void;
}

interface Waiting {
  readonly lane: Lane;
  readonly bytes: number;
  readonly deadline: number;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

interface Lane {
  stream: LaneStream | undefined;
  /** Core has taken it on. */
  accepted: boolean;
  /** When it may be opened again after it broke, by performance.now(). */
  openAt: number;
  failures: number;
}

/** How core says that it does not know the token, or not for this. */
const REFUSALS: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED]);
const REOPEN_MIN_MS = 50;
const REOPEN_MAX_MS = 1_000;
const CHECK_DEADLINES_EVERY_MS = 250;
const NUMBERS = 2 ** 32;
/** With so many calls, or so many bytes, a message is full: it leaves at once. */
const MESSAGE_CALLS = 32;
const MESSAGE_BYTES = 1_048_576;

/**
 * Carries calls to core over a few long streams. The calls of one turn of the
 * event loop travel together on one of them, turn and turn about, so that all
 * cores get their part. Many calls travel in several messages: what HTTP/2 is given
 * during a turn it sends at the turn's end, and what it is given at the end, only
 * after the next turn, by which time a busy edge has read a hundred requests more
 * and core has stood idle. When a lane breaks, what was under way on it is rejected
 * at once, never guessed; it is opened again after a pause that grows.
 */
export function createLanes({
  open,
  lanes,
  underWayMax,
  bytesMax,
  deadlineMs,
  onRefused,
}: LanesOptions): Lanes {
  const all: Lane[] = Array.from({ length: lanes }, () => ({
    stream: undefined,
    accepted: false,
    openAt: 0,
    failures: 0,
  }));
  /** By number, in the order of their deadlines. */
  const underWay = new Map<number, Waiting>();
  const load = createLaneLoad();
  /** Core has refused a lane, and taken on none since. */
  let isRefused = false;
  let lastNumber = 0;
  let turn: { readonly lane: Lane; readonly calls: LaneCall[]; bytes: number } | undefined;
  let next = 0;
  let closed = false;
  const deadlines = setInterval(rejectOverdue, CHECK_DEADLINES_EVERY_MS);

  function settle(number: number): Waiting | undefined {
    const waiting = underWay.get(number);
    if (waiting !== undefined) {
      underWay.delete(number);
      load.calls -= 1;
      load.bytes -= waiting.bytes;
    }
    return waiting;
  }

  function fail(number: number, failure: LaneFailure, error: Error): void {
    load.failures[failure] += 1;
    settle(number)?.reject(error);
  }

  /** The rejection of a call that is not begun. */
  async function refuse(failure: LaneFailure, why: string): Promise<never> {
    load.failures[failure] += 1;
    throw new CoreUnavailable(why);
  }

  function rejectOverdue(): void {
    const now = performance.now();
    for (const [number, { deadline }] of underWay) {
      if (deadline > now) return;
      fail(number, "late", new CoreUnavailable("no answer in time"));
    }
  }

  /** The next lane that stands or may be opened. */
  function pick(): Lane | undefined {
    const now = performance.now();
    for (let tries = 0; tries < all.length; tries++) {
      const lane = all[next++ % all.length];
      if (lane !== undefined && (lane.stream !== undefined || lane.openAt <= now)) return lane;
    }
    return undefined;
  }

  function streamOf(lane: Lane): LaneStream {
    if (lane.stream !== undefined) return lane.stream;
    const stream = open();
    lane.stream = stream;
    load.open += 1;
    load.opened += 1;
    stream.on("data", ({ answers }: LaneResponse) => {
      lane.failures = 0;
      for (const { number, answer } of answers) receive(number, answer);
    });
    stream.on("metadata", () => {
      lane.accepted = true;
      isRefused = false;
    });
    stream.on("error", ({ code, details }: ServiceError) => {
      if (REFUSALS.has(code) && !isRefused) {
        isRefused = true;
        onRefused(details);
      }
      breakLane(lane, stream);
    });
    // An end without an error, too, is core's leave.
    stream.on("end", () => breakLane(lane, stream));
    return stream;
  }

  function receive(number: number, answer: LaneAnswer["answer"]): void {
    if (!underWay.has(number)) return; // It came too late.
    if (answer === undefined) fail(number, "core-fault", new Error("core sent an answer with nothing in it"));
    else if (answer.$case !== "fault") settle(number)?.resolve(answer);
    else if (answer.value === LaneFault.UNAVAILABLE)
      fail(number, "store-away", new CoreUnavailable("core cannot reach its store"));
    else fail(number, "core-fault", new Error("core made a mistake"));
  }

  function breakLane(lane: Lane, stream: LaneStream): void {
    if (lane.stream !== stream) return;
    lane.stream = undefined;
    lane.accepted = false;
    load.open -= 1;
    lane.openAt = performance.now() + Math.min(REOPEN_MAX_MS, REOPEN_MIN_MS * 2 ** lane.failures);
    lane.failures += 1;
    stream.cancel();
    // What has not left is given up with the rest, so it must not be done after all.
    if (turn?.lane === lane) turn = undefined;
    for (const [number, waiting] of underWay) {
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
      ? new CoreRefusesToken("core refuses the token")
      : new CoreUnavailable("no lane to core");
  }

  async function greet(): Promise<void> {
    if (all.some(({ accepted }) => accepted)) return;
    const lane = closed ? undefined : pick();
    if (lane === undefined) throw noLane();
    const stream = streamOf(lane);
    await new Promise<void>((resolve, reject) => {
      const refuse = (): void => reject(noLane());
      stream
        .once("metadata", () => resolve())
        .once("error", refuse)
        .once("end", refuse);
    });
  }

  return {
    load,
    greet,
    call(call, bytes) {
      if (closed || load.calls >= underWayMax || load.bytes + bytes > bytesMax) {
        return refuse("full", "too many calls are under way");
      }
      if (turn === undefined) {
        const lane = pick();
        if (lane === undefined) return refuse("no-connection", "no connection to core");
        turn = { lane, calls: [], bytes: 0 };
        setImmediate(flush);
      }
      const { lane, calls } = turn;
      turn.bytes += bytes;
      lastNumber = (lastNumber + 1) % NUMBERS;
      const number = lastNumber;
      calls.push({ number, call });
      load.calls += 1;
      load.bytes += bytes;
      const answer = new Promise<Answer>((resolve, reject) => {
        underWay.set(number, { lane, bytes, deadline: performance.now() + deadlineMs, resolve, reject });
      });
      if (calls.length >= MESSAGE_CALLS || turn.bytes >= MESSAGE_BYTES) flush();
      return answer;
    },
    close() {
      closed = true;
      clearInterval(deadlines);
      for (const lane of all) {
        const { stream } = lane;
        if (stream !== undefined) breakLane(lane, stream);
      }
      // Those of a lane that was not opened yet.
      for (const number of underWay.keys())
        fail(number, "broken", new CoreUnavailable("the edge is stopping"));
    },
  };
}
