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
import { beforeRevoked } from "./call-caller";
import { StatusError, type ReportFault } from "./status";
import type { CallCounts } from "./call-counts";

export type LaneStream = ServerDuplexStream<LaneRequest, LaneAnswers>;

export interface LaneCalls {
  /** @param traceparent the trace context of the edge's span; empty when the request is not sampled */
  receive(request: ReceiveCall, traceparent?: string): Promise<ReceiveResponse>;
  poll(request: PollRequest, traceparent?: string): Promise<SignedPage | Refused>;
}

export interface LaneContext {
  readonly stopping: AbortSignal;
  readonly report: ReportFault;
  /**
   * The number of open lanes, the number of pending calls on all lanes, and the bytes of these calls and their answers.
   */
  readonly load: CallCounts["lanes"];
}

/**
 * Maximum number of pending calls of one lane, and maximum total size in bytes of the bodies of its unanswered calls.
 * An edge limits its lanes to the same or lower numbers.
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

/** Core stops reading calls from a lane that has this many bytes of unsent answers. Further calls wait at the edge. */
const PAUSE_BYTES = 8 * 1024 * 1024;
/**
 * Maximum total size in bytes of the unsent answers of one lane, and of all lanes. An answer that would exceed either
 * maximum is replaced by a fault.
 */
const LANE_ANSWERS_MAX_BYTES = 32 * 1024 * 1024;
const ALL_ANSWERS_MAX_BYTES = 256 * 1024 * 1024;
/** Bytes counted for each answer, in addition to the body of a page or the text of a violation. */
const ANSWER_BYTES = 64;

export function serveLane(stream: LaneStream, calls: LaneCalls, context: LaneContext): void {
  void new Lane(stream, calls, context);
}

/**
 * Serves one lane. Executes each call as soon as it arrives. Sends the answers of one turn of the event loop together,
 * in one or more messages. Calls that arrive in the same message do not wait for each other.
 *
 * A call is pending until HTTP/2's flow control allows its answer to be sent. If an edge does not read its answers,
 * core stops reading the lane at `PAUSE_BYTES` or `IN_PROGRESS_MAX`, until the edge has read some answers
 * (backpressure). If there is no room for the answer to a call that core has already read, core sends a fault instead.
 *
 * A lane is open until the edge closes it. When core stops, it only asks the edge to make no new calls; the edge closes
 * the lane after receiving all answers.
 */
class Lane {
  readonly #stream: LaneStream;
  readonly #calls: LaneCalls;
  readonly #context: LaneContext;
  #state: "open" | "over" = "open";
  /** Calls without an answer, and the bytes of their bodies. */
  readonly #unanswered = { calls: 0, bytes: 0 };
  /** Answers that have not been sent. */
  readonly #unsent = { answers: 0, bytes: 0 };
  /** Functions that release the pages that have not been sent (see `SignedPage`). */
  readonly #pages = new Set<() => void>();
  /** The answers of the next message, and their bytes. */
  #answers: Answer[] = [];
  #bytes = 0;
  /** Whether a flush is scheduled for the end of this turn of the event loop. */
  #turnEnds = false;

  constructor(stream: LaneStream, calls: LaneCalls, context: LaneContext) {
    this.#stream = stream;
    this.#calls = calls;
    this.#context = context;
    const { stopping, load } = context;
    // These headers show the edge that its token was accepted, before the edge makes a call.
    stream.sendMetadata(new Metadata());
    load.open += 1;
    if (stopping.aborted) this.#stop();
    else stopping.addEventListener("abort", this.#stop, { once: true });
    beforeRevoked(stream, this.#stop);
    stream.on("data", (request: LaneRequest) => {
      for (const call of request.calls) void this.#make(call);
    });
    for (const event of ["end", "cancelled", "error"]) stream.on(event, () => this.#end());
  }

  get #inProgress(): number {
    return this.#unanswered.calls + this.#unsent.answers;
  }

  async #make({ number, call, traceparent }: LaneCall): Promise<void> {
    const { load } = this.#context;
    load.calls += 1;
    if (call === undefined) return this.#send(faultAnswer(number, LaneFault.INVALID));
    const size = call.$case === "receive" ? call.value.body.length : call.value.queryString.length;
    if (this.#inProgress >= IN_PROGRESS_MAX || this.#unanswered.bytes + size > BODIES_MAX_BYTES) {
      return this.#send(faultAnswer(number, LaneFault.UNAVAILABLE));
    }
    this.#begin(1, size);
    const answer = await this.#answerTo(number, call, traceparent);
    this.#begin(-1, -size);
    this.#send(answer);
  }

  async #answerTo(number: number, call: Call, traceparent: string): Promise<Answer> {
    try {
      return call.$case === "receive"
        ? { number, answer: { $case: "receive", value: await this.#calls.receive(call.value, traceparent) } }
        : pollAnswer(number, await this.#calls.poll(call.value, traceparent));
    } catch (error) {
      if (error instanceof StoreUnavailable) return faultAnswer(number, LaneFault.UNAVAILABLE);
      if (error instanceof StatusError) return faultAnswer(number, LaneFault.INVALID);
      this.#context.report("Lane", error);
      return faultAnswer(number, LaneFault.INTERNAL);
    }
  }

  #send(answer: Answer): void {
    const { load } = this.#context;
    if (this.#state === "over") {
      load.calls -= 1;
      return this.#release(answer);
    }
    const size = sizeOf(answer);
    const fits =
      this.#unsent.bytes + size <= LANE_ANSWERS_MAX_BYTES && load.answerBytes + size <= ALL_ANSWERS_MAX_BYTES;
    if (!fits && size > ANSWER_BYTES) {
      this.#release(answer);
      return this.#send(faultAnswer(answer.number, LaneFault.UNAVAILABLE));
    }
    this.#hold(1, size);
    if ("page" in answer && answer.page.release) this.#pages.add(answer.page.release);
    this.#answers.push(answer);
    this.#bytes += size;
    if (this.#answers.length >= MESSAGE_ANSWERS || this.#bytes >= MESSAGE_BYTES) this.#flush();
    else if (!this.#turnEnds) {
      this.#turnEnds = true;
      setImmediate(this.#endTurn);
    }
  }

  readonly #endTurn = (): void => {
    this.#turnEnds = false;
    this.#flush();
  };

  #flush(): void {
    const [due, size] = [this.#answers, this.#bytes];
    [this.#answers, this.#bytes] = [[], 0];
    if (due.length > 0 && this.#state === "open") {
      this.#stream.write({ answers: due }, () => this.#onSent(due, size));
    }
  }

  #onSent(sent: readonly Answer[], size: number): void {
    if (this.#state === "over") return;
    this.#context.load.calls -= sent.length;
    this.#hold(-sent.length, -size);
    if (this.#pages.size > 0) for (const answer of sent) this.#release(answer);
  }

  /** Adds new calls to the counts; negative numbers remove answered calls from the counts. */
  #begin(count: number, size: number): void {
    this.#unanswered.calls += count;
    this.#unanswered.bytes += size;
    this.#context.load.bytes += size;
  }

  /** Adds unsent answers to the counts; negative numbers remove sent answers from the counts. */
  #hold(count: number, size: number): void {
    this.#unsent.answers += count;
    this.#unsent.bytes += size;
    this.#context.load.answerBytes += size;
    // While the stream is paused, HTTP/2 buffers the edge's messages, and soon makes the edge wait.
    if (this.#inProgress >= IN_PROGRESS_MAX || this.#unsent.bytes >= PAUSE_BYTES) this.#stream.pause();
    else if (this.#stream.isPaused()) this.#stream.resume();
  }

  #release(answer: Answer): void {
    const done = "page" in answer ? answer.page.release : undefined;
    if (done === undefined) return;
    this.#pages.delete(done);
    done();
  }

  readonly #stop = (): void => {
    if (this.#state === "over") return;
    this.#stream.write({ answers: [], closing: true });
  };

  #end(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    const { stopping, load } = this.#context;
    load.open -= 1;
    load.calls -= this.#unsent.answers;
    load.answerBytes -= this.#unsent.bytes;
    this.#answers = [];
    for (const done of this.#pages) done();
    this.#pages.clear();
    stopping.removeEventListener("abort", this.#stop);
    this.#stream.end();
  }
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
