import { Metadata, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  LaneFault,
  type LaneCall,
  type LaneRequest,
  type PollRequest,
  type ReceiveRequest,
  type ReceiveResponse,
  type Refused,
} from "../../proto/gen/chatbridge/v1/bridge";
import type { LaneAnswers, PageAnswer } from "../../proto/lane-method";
import type { SignedPage } from "../operations/poll";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { ReportFault } from "./status";
import type { Tally } from "./tally";

export interface LaneCalls {
  receive(request: ReceiveRequest): Promise<ReceiveResponse>;
  poll(request: PollRequest): Promise<SignedPage | Refused>;
}

export interface LaneContext {
  readonly stopping: AbortSignal;
  readonly report: ReportFault;
  /** What is under way on all lanes. */
  readonly load: Tally["lanes"];
}

/** Calls of one lane that may be under way; an edge keeps to fewer. */
const UNDER_WAY_MAX = 16_384;
type Answer = LaneAnswers["answers"][number];

/** With so many answers, or so many bytes of pages, a message is full: it leaves at once, as the edge's do. */
const MESSAGE_ANSWERS = 32;
const MESSAGE_BYTES = 65_536;

/**
 * Serves one lane: makes the calls as they come, and sends the answers of one
 * turn of the event loop together, in several messages where they are many. No
 * call waits for another of its message.
 */
export function serveLane(
  stream: ServerDuplexStream<LaneRequest, LaneAnswers>,
  calls: LaneCalls,
  { stopping, report, load }: LaneContext,
): void {
  // By this an edge knows, before it has anything to ask, that it was let in.
  stream.sendMetadata(new Metadata());
  load.open += 1;
  let underWay = 0;
  let answers: Answer[] = [];
  /** Of the pages among them. */
  let bytes = 0;
  /** Something was answered in this turn of the event loop, so its end is waited for. */
  let turnEnds = false;
  let over = false;

  function flush(): void {
    const due = answers;
    answers = [];
    bytes = 0;
    if (due.length > 0 && !over) stream.write({ answers: due });
  }

  function endTurn(): void {
    turnEnds = false;
    flush();
    if (stopping.aborted && underWay === 0) end();
  }

  function send(answer: Answer): void {
    if (!turnEnds) setImmediate(endTurn);
    turnEnds = true;
    answers.push(answer);
    bytes += "page" in answer ? sizeOf(answer) : 0;
    if (answers.length >= MESSAGE_ANSWERS || bytes >= MESSAGE_BYTES) flush();
  }

  async function make({ number, call }: LaneCall): Promise<void> {
    if (call === undefined || underWay >= UNDER_WAY_MAX) {
      const value = call === undefined ? LaneFault.INTERNAL : LaneFault.UNAVAILABLE;
      return send({ number, answer: { $case: "fault", value } });
    }
    const callBytes = call.$case === "receive" ? call.value.body.length : call.value.queryString.length;
    underWay += 1;
    load.calls += 1;
    load.bytes += callBytes;
    try {
      send(
        call.$case === "receive"
          ? { number, answer: { $case: "receive", value: await calls.receive(call.value) } }
          : pollAnswer(number, await calls.poll(call.value)),
      );
    } catch (error) {
      const isAway = error instanceof StoreUnavailable;
      if (!isAway) report("Lane", error);
      const value = isAway ? LaneFault.UNAVAILABLE : LaneFault.INTERNAL;
      send({ number, answer: { $case: "fault", value } });
    } finally {
      underWay -= 1;
      load.calls -= 1;
      load.bytes -= callBytes;
    }
  }

  function end(): void {
    if (!over) load.open -= 1;
    over = true;
    stopping.removeEventListener("abort", stop);
    stream.end();
  }

  /** What is under way is answered; whatever comes from now on finds the stream ended. */
  function stop(): void {
    if (underWay === 0 && !turnEnds) end();
  }

  stopping.addEventListener("abort", stop, { once: true });
  stream.on("data", (request: LaneRequest) => {
    for (const call of request.calls) void make(call);
  });
  stream.on("end", end);
  stream.on("cancelled", end);
  stream.on("error", end);
}

function pollAnswer(number: number, outcome: SignedPage | Refused): Answer {
  if ("body" in outcome) return { number, page: outcome };
  return { number, answer: { $case: "poll", value: { outcome: { $case: "refused", value: outcome } } } };
}

function sizeOf({ page }: PageAnswer): number {
  return page.body.reduce((bytes, piece) => bytes + piece.length, 0);
}
