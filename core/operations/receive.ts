import { StoreFull } from "../ports/store-faults";
import type { InboundLog, RequestIdentity } from "../ports/inbound-log";
import { judgeCaller, type Caller, type JudgeContext } from "./judge-caller";
import type { FieldViolation, Refusal } from "./refusal";

/** One POST from a bridge. The body is JSON of at most 64 KB, because the edge has performed check 1. */
export interface ReceiveInput extends Omit<Caller, "signed"> {
  readonly body: Uint8Array;
  /** The body as the edge parsed it: the event, or the first field rule that the body breaks. */
  readonly reading:
    | { readonly requestId: string | undefined; readonly event: Uint8Array }
    | { readonly violation: FieldViolation };
  /** The trace context to store with the event; undefined when the request is not traced. */
  readonly traceparent?: string | undefined;
}

/** "stored": the event is stored durably. "repeated": the event repeats a stored event, and is ignored. */
export interface Accepted {
  readonly accepted: "stored" | "repeated";
}

/**
 * Receives an inbound event (`POST /hooks/{workspaceId}`). Applies checks 2 to 7 of docs/checks.md. If several
 * checks fail, the first of them determines the answer. Stores the event, unless the request repeats an earlier request
 * whose event is stored. Rejects with `StoreFull` when the log has no room for the event.
 */
export function receive(
  context: JudgeContext & { readonly inboundLog: InboundLog },
  input: ReceiveInput,
): Promise<Accepted | Refusal> {
  const { workspaceId, sourceAddress, signature, body, reading, traceparent } = input;
  return judgeCaller<Accepted>(
    context,
    { workspaceId, sourceAddress, signature, signed: body },
    async ({ record, timestamp, address }) => {
      const event =
        "violation" in reading
          ? "fault"
          : { identity: identify(reading.requestId, timestamp, body), bytes: reading.event, traceparent };
      const appended = await context.inboundLog.append({ record, address, event });
      switch (appended.outcome) {
        case "stale":
          return "stale";
        case "address-limited": // check 2
          return { refused: "address-limit", retryAfterSeconds: appended.retryAfterSeconds };
        case "limited": // check 6
          return { refused: "workspace-limit", retryAfterSeconds: appended.retryAfterSeconds };
        case "fault": // check 7
          return { refused: "invalid", violation: violationOf(reading) };
        case "full":
          throw new StoreFull("the log of inbound events has no room for the event");
        case "stored":
        case "repeated":
          return { accepted: appended.outcome };
      }
    },
  );
}

function identify(requestId: string | undefined, timestamp: number, body: Uint8Array): RequestIdentity {
  return requestId === undefined ? { by: "bytes", timestamp, body } : { by: "id", id: requestId };
}

function violationOf(reading: ReceiveInput["reading"]): FieldViolation {
  if ("violation" in reading) return reading.violation;
  throw new Error("the store reported a field violation for an event that has none");
}
