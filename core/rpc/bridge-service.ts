import { WireType } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import { CURSOR_FORM } from "../../contract/forms";
import { PAGE_MAX_EVENTS } from "../../contract/numbers";
import type { RefusalKind } from "../../contract/requests";
import {
  EdgeRefusal,
  Refusal as RefusalCode,
  Refused,
  type PollQuery,
  type PollRequest,
  type EdgeRefusals,
  type PollResponse,
  type ReportRefusalsRequest,
} from "../../proto/gen/chatbridge/v1/bridge";
import type { JudgeContext } from "../operations/judge-caller";
import {
  createRequestNotes,
  type NoteContext,
  type NotedCaller,
  type RequestNotes,
} from "../operations/note-request";
import { poll, type PollInput } from "../operations/poll";
import { receive, type ReceiveInput } from "../operations/receive";
import type { Refusal } from "../operations/refusal";
import type { HeldEvents, PageStart } from "../ports/outbound-events";
import type { InboundLog } from "../ports/inbound-log";
import type { Tracer } from "../../runtime/tracing/tracer";
import type { ReceiveCall } from "./bridge-methods";
import type { AddressProbes } from "./address-probes";
import { whenOver, type ServedCall } from "./call-caller";
import { serveLane, type LaneCalls, type LaneStream } from "./lane";
import { sealedMethods, type SealedContext } from "./sealed-methods";
import { endRequestSpan } from "./spans";
import { StatusError, unary, type ReportFault } from "./status";
import type { CallCounts } from "./call-counts";
import { createWireCheck } from "./wire-fault";
import { eachField, tagOf, textTo, WireReader } from "./wire-fields";

export interface BridgeServiceContext extends JudgeContext, NoteContext, SealedContext {
  readonly inboundLog: InboundLog;
  readonly heldEvents: HeldEvents;
  readonly callCounts: CallCounts;
  readonly addressProbes: Pick<AddressProbes, "note">;
  readonly tracer?: Tracer | undefined;
  /** Called when a request cannot be checked, because core lacks a key of the workspace's secret. */
  onUnreadable(workspaceId: string, missingKey: string): void;
  /** Aborted when core stops. After that, each edge closes its lanes as soon as all of their calls are answered. */
  readonly stopping: AbortSignal;
}

/** Returns the handlers of `BRIDGE_METHODS`. */
export function createBridgeService(context: BridgeServiceContext, report: ReportFault) {
  const { callCounts } = context;
  const notes = createRequestNotes(context);
  function reportUnreadable(workspaceId: string, outcome: object): void {
    if ("missingKey" in outcome) context.onUnreadable(workspaceId.toLowerCase(), String(outcome.missingKey));
  }
  const calls: LaneCalls = {
    async receive(request, traceparent = "") {
      const span = traceparent === "" ? undefined : context.tracer?.start("append", "producer", traceparent);
      const outcome = await receive(context, {
        workspaceId: request.workspaceId,
        sourceAddress: request.sourceAddress,
        signature: request.signature,
        body: request.body,
        reading: readEvent(request.reading),
        traceparent: span?.traceparent,
      });
      if (span) endRequestSpan(span, request.workspaceId, outcome);
      reportUnreadable(request.workspaceId, outcome);
      if ("refused" in outcome) notes.refused(noted("POST", request, request.body), outcome);
      else notes.accepted(request.workspaceId, "post");
      callCounts.receives["refused" in outcome ? outcome.refused : outcome.accepted] += 1;
      return {
        outcome:
          "refused" in outcome
            ? { $case: "refused", value: toRefused(outcome) }
            : { $case: "accepted", value: { repeated: outcome.accepted === "repeated" } },
      };
    },
    async poll(request, traceparent = "") {
      const span = traceparent === "" ? undefined : context.tracer?.start("poll", "internal", traceparent);
      const outcome = await poll(context, {
        workspaceId: request.workspaceId,
        sourceAddress: request.sourceAddress,
        signature: request.signature,
        queryString: request.queryString,
        reading: readQuery(request.reading),
      });
      if (span) endRequestSpan(span, request.workspaceId, outcome);
      reportUnreadable(request.workspaceId, outcome);
      if ("refused" in outcome) notes.refused(noted("GET", request, request.queryString), outcome);
      else notes.accepted(request.workspaceId, "poll");
      if ("refused" in outcome && outcome.refused === "unknown-workspace") {
        context.addressProbes.note(request.workspaceId, request.sourceAddress);
      }
      callCounts.polls["refused" in outcome ? outcome.refused : "page"] += 1;
      return "refused" in outcome ? toRefused(outcome) : outcome;
    },
  };
  return {
    receive: unary("Receive", report, (request: ReceiveCall) => calls.receive(request)),
    poll: unary("Poll", report, async (request: PollRequest, call: ServedCall): Promise<PollResponse> => {
      const outcome = await calls.poll(request);
      if (!("body" in outcome)) return { outcome: { $case: "refused", value: outcome } };
      if (outcome.release) whenOver(call, outcome.release);
      return { outcome: { $case: "page", value: outcome } };
    }),
    reportRefusals: unary("ReportRefusals", report, async ({ refusals }: ReportRefusalsRequest) => {
      if (refusals.length > EDGE_REFUSALS_MAX) {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          `refusals must have at most ${EDGE_REFUSALS_MAX} entries`,
        );
      }
      for (const each of refusals) noteEdgeRefusals(notes, each);
      return {};
    }),
    lane: (stream: LaneStream) =>
      serveLane(stream, calls, { stopping: context.stopping, report, load: callCounts.lanes }),
    ...sealedMethods(context, report),
  };
}

function noted(
  method: NotedCaller["method"],
  request: ReceiveCall | PollRequest,
  signed: Uint8Array | string,
) {
  const { workspaceId, sourceAddress, signature } = request;
  return { method, workspaceId, sourceAddress, signature, signed };
}

/** Maximum number of entries of one report of an edge. */
const EDGE_REFUSALS_MAX = 256;

const EDGE_KINDS: ReadonlyMap<EdgeRefusal, RefusalKind> = new Map([
  [EdgeRefusal.NOT_JSON, "not-json"],
  [EdgeRefusal.TOO_LARGE, "too-large"],
  [EdgeRefusal.ADDRESS_LIMIT, "address-limit"],
]);

/** Ignores refusals whose reason only a newer release knows. */
function noteEdgeRefusals(notes: RequestNotes, refusals: EdgeRefusals): void {
  const { workspaceId, reason, count, isPoll, sourceAddress: address, message, bytes } = refusals;
  const kind = EDGE_KINDS.get(reason);
  if (kind === undefined) return;
  const method = isPoll ? "GET" : "POST";
  const details = { message: message || undefined, bytes: bytes || undefined };
  notes.refusedByEdge(workspaceId, count, { kind, method, address, ...details });
}

const findEventFault = createWireCheck("chatbridge.v1.InboundEvent");
/** The tag of `InboundEvent.id`. */
const EVENT_ID = tagOf(1, WireType.LengthDelimited);

function readEvent(reading: ReceiveCall["reading"]): ReceiveInput["reading"] {
  switch (reading?.$case) {
    case "event": {
      // Core stores these bytes, and decodes them later for games. So core rejects bytes that cannot be decoded.
      const fault = findEventFault(new WireReader(reading.value), reading.value.length);
      if (fault !== undefined) {
        const field = fault.field === "" ? "reading.event" : `reading.event.${fault.field}`;
        throw new StatusError(status.INVALID_ARGUMENT, `${field} ${fault.problem}`);
      }
      return { requestId: readId(reading.value), event: reading.value };
    }
    case "violation":
      return { violation: reading.value };
    case undefined:
      throw new StatusError(status.INVALID_ARGUMENT, "reading is missing: send an event or a violation");
  }
}

function readId(event: Buffer): string | undefined {
  const reader = new WireReader(event);
  let id: string | undefined;
  eachField(reader, event.length, (tag, end) => {
    if (tag === EVENT_ID) id = textTo(reader, end);
  });
  return id;
}

function readQuery(reading: PollRequest["reading"]): PollInput["reading"] {
  switch (reading?.$case) {
    case "query": {
      const { limit } = reading.value;
      if (limit < 1 || limit > PAGE_MAX_EVENTS) {
        throw new StatusError(status.INVALID_ARGUMENT, `reading.query.limit must be 1 to ${PAGE_MAX_EVENTS}`);
      }
      return { start: readStart(reading.value.from), limit };
    }
    case "violation":
      return { violation: reading.value };
    case undefined:
      throw new StatusError(status.INVALID_ARGUMENT, "reading is missing: send a query or a violation");
  }
}

function readStart(from: PollQuery["from"]): PageStart {
  switch (from?.$case) {
    case "after":
      if (!CURSOR_FORM.test(from.value)) {
        throw new StatusError(status.INVALID_ARGUMENT, "reading.query.after must be 1 to 18 digits");
      }
      return { from: "after", cursor: from.value };
    case "latest":
      return { from: "latest" };
    case undefined:
      return { from: "oldest" };
  }
}

const CODES: Readonly<Record<Refusal["refused"], RefusalCode>> = {
  "address-limit": RefusalCode.ADDRESS_LIMIT,
  "unknown-workspace": RefusalCode.UNKNOWN_WORKSPACE,
  signature: RefusalCode.SIGNATURE,
  timestamp: RefusalCode.TIMESTAMP,
  "workspace-limit": RefusalCode.WORKSPACE_LIMIT,
  invalid: RefusalCode.INVALID,
  "push-workspace": RefusalCode.PUSH_WORKSPACE,
  "secret-unreadable": RefusalCode.SECRET_UNREADABLE,
};

function toRefused(refusal: Refusal): Refused {
  return Refused.create({
    refusal: CODES[refusal.refused],
    ...("violation" in refusal ? { violation: refusal.violation } : {}),
    ...("retryAfterSeconds" in refusal ? { retryAfterSeconds: refusal.retryAfterSeconds } : {}),
  });
}
