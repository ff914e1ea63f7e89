import type { ServerDuplexStream } from "@grpc/grpc-js";
import {
  LaneFault,
  type LaneAnswer,
  type LaneCall,
  type LaneRequest,
  type LaneResponse,
  type PollRequest,
  type PollResponse,
  type ReceiveRequest,
  type ReceiveResponse,
} from "../../proto/gen/chatbridge/v1/bridge";
import { StoreUnavailable } from "../ports/store-unavailable";
import type { ReportFault } from "./status";

export interface LaneCalls {
  receive(request: ReceiveRequest): Promise<ReceiveResponse>;
  poll(request: PollRequest): Promise<PollResponse>;
}

/** Calls of one lane that may be under way; an edge keeps to fewer. */
const UNDER_WAY_MAX = 16_384;
/** Past this a message is full: pages may be large, and messages are bounded. */
const MESSAGE_BYTES = 1_048_576;

/**
 * Serves one lane: makes the calls as they come, and sends the answers of one
 * turn of the event loop together. No call waits for another of its message.
 */
export function serveLane(
  stream: ServerDuplexStream<LaneRequest, LaneResponse>,
  calls: LaneCalls,
  stopping: AbortSignal,
  report: ReportFault,
): void {
  let underWay = 0;
  let answers: LaneAnswer[] = [];
  let over = false;

  function flush(): void {
    const due = answers;
    answers = [];
    let from = 0;
    let bytes = 0;
    for (const [i, { answer }] of due.entries()) {
      bytes += answer?.$case === "poll" ? sizeOf(answer.value) : 0;
      if (bytes < MESSAGE_BYTES && i < due.length - 1) continue;
      if (!over) stream.write({ answers: due.slice(from, i + 1) });
      from = i + 1;
      bytes = 0;
    }
    if (stopping.aborted && underWay === 0) end();
  }

  function send(number: number, answer: NonNullable<LaneAnswer["answer"]>): void {
    if (answers.length === 0) setImmediate(flush);
    answers.push({ number, answer });
  }

  async function make({ number, call }: LaneCall): Promise<void> {
    if (call === undefined || underWay >= UNDER_WAY_MAX) {
      const value = call === undefined ? LaneFault.INTERNAL : LaneFault.UNAVAILABLE;
      return send(number, { $case: "fault", value });
    }
    underWay += 1;
    try {
      if (call.$case === "receive")
        send(number, { $case: "receive", value: await calls.receive(call.value) });
      else send(number, { $case: "poll", value: await calls.poll(call.value) });
    } catch (error) {
      const isAway = error instanceof StoreUnavailable;
      if (!isAway) report("Lane", error);
      send(number, { $case: "fault", value: isAway ? LaneFault.UNAVAILABLE : LaneFault.INTERNAL });
    } finally {
      underWay -= 1;
    }
  }

  function end(): void {
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

function sizeOf({ outcome }: PollResponse): number {
  return outcome?.$case === "page" ? outcome.value.body.length : 0;
}
