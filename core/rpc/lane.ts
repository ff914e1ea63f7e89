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

/** Past this a message is full: pages may be large, and messages are bounded. */
const MESSAGE_BYTES = 65_536;

/**
 * Serves one lane: makes the calls as they come, and sends the answers of one
 * turn of the event loop together. No call waits for another of its message.
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
  let over = false;

  function flush(): void {
    const due = answers;
    answers = [];
    let from = 0;
    let bytes = 0;
    for (const [i, answer] of due.entries()) {
      bytes += "page" in answer ? sizeOf(answer) : 0;
      if (bytes < MESSAGE_BYTES && i < due.length - 1) continue;
      if (!over) stream.write({ answers: due.slice(from, i + 1) });
      from = i + 1;
      bytes = 0;
    }
    if (stopping.aborted && underWay === 0) end();
  }

  function send(answer: Answer): void {
    if (answers.length === 0) setImmediate(flush);
    answers.push(answer);
  }

  async function make({ number, call }: LaneCall): Promise<void> {
    if (call === undefined || underWay >= UNDER_WAY_MAX) {
      const value = call === undefined ? LaneFault.INTERNAL : LaneFault.UNAVAILABLE;
      return send({ number, answer: { $case: "fault", value } });
    }
    const bytes = call.$case === "receive" ? call.value.body.length : call.value.queryString.length;
    underWay += 1;
    load.calls += 1;
    load.bytes += bytes;
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
      load.bytes -= bytes;
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
    if (underWay === 0 && answers.length === 0) end();
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
