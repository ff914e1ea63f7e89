import { Metadata, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  LaneFault,
  type FieldViolation,
  type LaneAnswer,
  type PollRequest,
  type ReceiveResponse,
  type Refused,
} from "../../proto/gen/chatbridge/v1/bridge";
import type { LaneAnswers } from "../../proto/lane-method";
import type { SignedPage } from "../operations/poll";
import { StoreUnavailable } from "../ports/store-faults";
import type { LaneCall, LaneRequest, ReceiveCall } from "./bridge-methods";
import { StatusError, type ReportFault } from "./status";
import type { CallCounts } from "./call-counts";

export type LaneStream = ServerDuplexStream<LaneRequest, LaneAnswers>;

export interface LaneCalls {
  /** @param traceparent the context of the edge's span; empty when the request is not sampled */
  receive(request: ReceiveCall, traceparent?: string): Promise<ReceiveResponse>;
  poll(request: PollRequest, traceparent?: string): Promise<SignedPage | Refused>;
}

export interface LaneContext {
  readonly stopping: AbortSignal;
  readonly report: ReportFault;
  /** Counts of open lanes, of pending calls on all lanes, and of the bytes of these calls and their answers. */
  readonly load: CallCounts["lanes"];
}

/**
 * Maximum number of pending calls of one lane, and maximum bytes of the bodies of unanswered calls. The bounds of an
 * edge are the same or lower.
 */
const IN_PROGRESS_MAX = 16_384;
const BODIES_MAX_BYTES = 64 * 1024 * 1024;
type Call = NonNullable<LaneCall["call"]>;
type Answer = LaneAnswer | { readonly number: number; readonly page: SignedPage };

/**
 * A message with this many answers or bytes is full, and is sent immediately. An edge also sends its full messages
 * immediately.
 */
const MESSAGE_ANSWERS = 32;
const MESSAGE_BYTES = 65_536;

/** Core reads no more calls from a lane with this many bytes of unsent answers. Further calls wait at the edge. */
const PAUSE_BYTES = 8 * 1024 * 1024;
/**
 * Maximum bytes of the unsent answers of one lane, and of all lanes. An answer that would exceed either maximum is
 * replaced by a fault.
 */
const LANE_ANSWERS_MAX_BYTES = 32 * 1024 * 1024;
const ALL_ANSWERS_MAX_BYTES = 256 * 1024 * 1024;
/** Bytes counted for each answer, in addition to the body of a page or the text of a violation. */
const ANSWER_BYTES = 64;

/**
 * Serves one lane. Executes each call when the call arrives. Sends the answers of one turn of the event loop together,
 * in one or more messages. No call waits for another call of the same message.
 *
 * A call is pending until HTTP/2's flow control allows its answer to be sent. If an edge does not read its answers,
 * core stops reading the lane at `PAUSE_BYTES` or `IN_PROGRESS_MAX`, until the edge has read some answers.
 * If there is no room for the answer to a call that core has already read, core sends a fault instead.
 */
export function serveLane(
  stream: LaneStream,
  calls: LaneCalls,
  { stopping, report, load }: LaneContext,
): void {
  // These headers show the edge that its token was accepted, before the edge makes a call.
  stream.sendMetadata(new Metadata());
  load.open += 1;
  /** Calls without an answer, and the bytes of their bodies. */
  const unanswered = { calls: 0, bytes: 0 };
  /** Answers that have not been sent. */
  const unsent = { answers: 0, bytes: 0 };
  /** Functions that release the pages that have not been sent (see `SignedPage`). */
  const pages = new Set<() => void>();
  /** The answers of the next message, and their bytes. */
  let answers: Answer[] = [];
  let bytes = 0;
  /** Whether a flush is scheduled for the end of this turn of the event loop. */
  let turnEnds = false;
  let over = false;

  const inProgress = (): number => unanswered.calls + unsent.answers;

  /** Counts calls that begin. Negative numbers count calls that have been answered. */
  function begin(count: number, size: number): void {
    unanswered.calls += count;
    unanswered.bytes += size;
    load.bytes += size;
  }

  /** Counts answers that wait to be sent. Negative numbers count answers that have been sent. */
  function hold(count: number, size: number): void {
    unsent.answers += count;
    unsent.bytes += size;
    load.answerBytes += size;
    // While the stream is paused, HTTP/2 buffers the edge's messages, and soon makes the edge wait.
    if (inProgress() >= IN_PROGRESS_MAX || unsent.bytes >= PAUSE_BYTES) stream.pause();
    else if (stream.isPaused()) stream.resume();
  }

  /** Counts the answers of a message as sent. */
  function leave(sent: readonly Answer[], size: number): void {
    if (over) return;
    load.calls -= sent.length;
    hold(-sent.length, -size);
    if (pages.size > 0) for (const answer of sent) release(answer);
  }

  function release(answer: Answer): void {
    const done = "page" in answer ? answer.page.release : undefined;
    if (done === undefined) return;
    pages.delete(done);
    done();
  }

  function flush(): void {
    const [due, size] = [answers, bytes];
    [answers, bytes] = [[], 0];
    if (due.length > 0 && !over) stream.write({ answers: due }, () => leave(due, size));
  }

  function endTurn(): void {
    turnEnds = false;
    flush();
  }

  function send(answer: Answer): void {
    if (over) {
      load.calls -= 1;
      return release(answer);
    }
    const size = sizeOf(answer);
    const fits =
      unsent.bytes + size <= LANE_ANSWERS_MAX_BYTES && load.answerBytes + size <= ALL_ANSWERS_MAX_BYTES;
    if (!fits && size > ANSWER_BYTES) {
      release(answer);
      return send(faultAnswer(answer.number, LaneFault.UNAVAILABLE));
    }
    hold(1, size);
    if ("page" in answer && answer.page.release) pages.add(answer.page.release);
    answers.push(answer);
    bytes += size;
    if (answers.length >= MESSAGE_ANSWERS || bytes >= MESSAGE_BYTES) flush();
    else if (!turnEnds) {
      turnEnds = true;
      setImmediate(endTurn);
    }
  }

  async function answerTo(number: number, call: Call, traceparent: string): Promise<Answer> {
    try {
      return call.$case === "receive"
        ? { number, answer: { $case: "receive", value: await calls.receive(call.value, traceparent) } }
        : pollAnswer(number, await calls.poll(call.value, traceparent));
    } catch (error) {
      if (error instanceof StoreUnavailable) return faultAnswer(number, LaneFault.UNAVAILABLE);
      if (error instanceof StatusError) return faultAnswer(number, LaneFault.INVALID);
      report("Lane", error);
      return faultAnswer(number, LaneFault.INTERNAL);
    }
  }

  async function make({ number, call, traceparent }: LaneCall): Promise<void> {
    load.calls += 1;
    if (call === undefined) return send(faultAnswer(number, LaneFault.INVALID));
    const size = call.$case === "receive" ? call.value.body.length : call.value.queryString.length;
    if (inProgress() >= IN_PROGRESS_MAX || unanswered.bytes + size > BODIES_MAX_BYTES) {
      return send(faultAnswer(number, LaneFault.UNAVAILABLE));
    }
    begin(1, size);
    const answer = await answerTo(number, call, traceparent);
    begin(-1, -size);
    send(answer);
  }

  function end(): void {
    if (over) return;
    over = true;
    load.open -= 1;
    load.calls -= unsent.answers;
    load.answerBytes -= unsent.bytes;
    answers = [];
    for (const done of pages) done();
    pages.clear();
    stopping.removeEventListener("abort", stop);
    stream.end();
  }

  /** Tells the edge to make no new calls. The edge closes the lane when it has all answers. */
  function stop(): void {
    stream.write({ answers: [], closing: true });
  }

  if (stopping.aborted) stop();
  else stopping.addEventListener("abort", stop, { once: true });
  stream.on("data", (request: LaneRequest) => {
    for (const call of request.calls) void make(call);
  });
  stream.on("end", end);
  stream.on("cancelled", end);
  stream.on("error", end);
}

function faultAnswer(number: number, value: LaneFault): LaneAnswer {
  return { number, answer: { $case: "fault", value } };
}

function pollAnswer(number: number, outcome: SignedPage | Refused): Answer {
  if ("body" in outcome) return { number, page: outcome };
  return { number, answer: { $case: "poll", value: { outcome: { $case: "refused", value: outcome } } } };
}

function sizeOf(answer: Answer): number {
  if ("page" in answer) return ANSWER_BYTES + answer.page.body.length;
  const { field = "", message = "" } = violationIn(answer) ?? {};
  return ANSWER_BYTES + field.length + message.length;
}

function violationIn({ answer }: LaneAnswer): FieldViolation | undefined {
  if (answer?.$case !== "receive" && answer?.$case !== "poll") return undefined;
  const { outcome } = answer.value;
  return outcome?.$case === "refused" ? outcome.value.violation : undefined;
}
