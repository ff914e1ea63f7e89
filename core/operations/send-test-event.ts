import { POLLED_LATELY_MS } from "../../contract/numbers";
import { ATTEMPT_STEPS, type AttemptStep, type Failure } from "../../contract/deliveries";
import { deliveryOf, type LoggedDelivery, type PushOutcome } from "../domain/delivery";
import { renderEnvelope } from "../domain/envelope";
import { summarize } from "../domain/event-summary";
import { defaultLifetimeMs } from "../domain/lifetime";
import { signatureHeader } from "../domain/signature";
import { activeKeys, deliveryMode, missingKey, type Workspace } from "../domain/workspace";
import type { Clock, Ids, PushTracer } from "../ports/outside";
import type { DeliveryLog } from "../ports/delivery-log";
import type { HourCounts } from "../ports/hour-counts";
import type { OutboundEvents, Published } from "../ports/outbound-events";
import type { PollWatch } from "../ports/poll-watch";
import type { Workspaces } from "../ports/workspaces";
import { logSent, type SentLogContext } from "./log-sent";
import { NOT_FOUND, precondition, unreadable, type WorkspaceRefusal } from "./workspaces";

export interface TestEventContext extends SentLogContext {
  readonly now: Clock;
  readonly ids: Ids;
  readonly workspaces: Workspaces;
  readonly outboundEvents: OutboundEvents;
  readonly deliveryLog: DeliveryLog;
  readonly pollWatch: PollWatch;
  readonly pushTracer: PushTracer;
  readonly hourCounts: Pick<HourCounts, "add">;
}

/** A completed step. `afterMs` is the time since the beginning of the attempt. */
export interface DoneStep {
  readonly step: AttemptStep;
  readonly detail: string;
  readonly afterMs: number;
}

export type TestEventOutcome = { readonly eventId: string } & (
  | {
      readonly mode: "push";
      readonly delivery: LoggedDelivery;
      readonly steps: readonly DoneStep[];
      /** The step that failed, and the reason, which is written for the owner; undefined on success. */
      readonly failed: { readonly step: AttemptStep; readonly why: string } | undefined;
    }
  | {
      readonly mode: "poll";
      readonly polledWithinLastMinute: boolean;
      readonly lastPollAtMs: number | undefined;
    }
);

/** Sends a ping. The ping is pushed immediately and never retried, or is held for the next poll. */
export async function sendTestEvent(
  context: TestEventContext,
  id: string,
): Promise<TestEventOutcome | WorkspaceRefusal> {
  const record = await context.workspaces.read(id);
  if (record === undefined) return NOT_FOUND;
  const fault = findSecretFault(record.workspace, context.now());
  if (fault !== undefined) return fault;
  const createdAtMs = context.now();
  const expiresAtMs = createdAtMs + (defaultLifetimeMs("ping", undefined) ?? 0);
  const eventId = context.ids.event();
  const envelope = renderEnvelope(
    { eventId, workspaceId: id, createdAtMs, expiresAtMs },
    { type: "ping" },
    "",
  );
  const published = await context.outboundEvents.publish({
    workspaceId: id,
    idempotencyKey: "",
    eventId,
    messageId: "",
    publisher: context.by,
    expiresAtMs,
    type: "ping",
    push: "direct",
    envelope,
  });
  if (published.outcome !== "published" && published.outcome !== "repeated") {
    return refusalOf(published.outcome);
  }
  await logSent(context, id, "test-event-sent");
  if (published.mode === "poll") {
    const { lastPollAtMs } = await context.pollWatch.health(id);
    const polledWithinLastMinute =
      lastPollAtMs !== undefined && context.now() - lastPollAtMs <= POLLED_LATELY_MS;
    return { eventId, mode: "poll", polledWithinLastMinute, lastPollAtMs };
  }

  // The workspace is read again, because it may have changed since the first read.
  const workspace = (await context.workspaces.read(id))?.workspace;
  if (workspace === undefined) return NOT_FOUND;
  if (deliveryMode(workspace) !== "push") {
    return precondition("the target URL was just cleared: try again");
  }
  const secretFault = findSecretFault(workspace, context.now());
  if (secretFault !== undefined) return secretFault;
  const bytes = Buffer.from(envelope.beforeSequence + String(published.sequence) + envelope.afterSequence);
  const began = performance.now();
  const steps: DoneStep[] = [];
  const nowMs = context.now();
  const outcome = await context.pushTracer.trace(
    {
      url: new URL(workspace.targetUrl),
      eventId,
      workspaceId: id,
      signature: signatureHeader(bytes, activeKeys(workspace, nowMs), nowMs),
      envelope: bytes,
    },
    (step, detail) => steps.push({ step, detail, afterMs: performance.now() - began }),
  );
  context.hourCounts.add(id, outcome.ok ? "push" : "push-failed");
  const delivery = await context.deliveryLog.append(
    id,
    deliveryOf(eventId, "ping", 1, outcome, {
      summary: summarize(bytes),
      publisher: context.by,
      expiresAtMs,
    }),
    outcome.ok
      ? {}
      : {
          response: outcome.response,
          failed: { eventId, sequence: published.sequence, eventType: "ping", expiresAtMs, envelope: bytes },
        },
  );
  return { eventId, mode: "push", delivery, steps, failed: failedStep(outcome, steps) };
}

/** Returns the refusal that explains why a ping was not stored. */
function refusalOf(outcome: Exclude<Published["outcome"], "published" | "repeated">): WorkspaceRefusal {
  switch (outcome) {
    case "unknown-workspace":
      return precondition("the workspace is not connected: connect it first");
    case "store-full":
      return precondition("Redis has no memory left to hold events: raise its maxmemory, or try again later");
    case "held-full":
      return precondition("the held events of the workspace are at their bound: check that the bridge polls");
    case "stale":
      // The store answers "stale" only for an event with a fence.
      throw new Error("an event without a fence is stale");
  }
}

function findSecretFault(workspace: Workspace, nowMs: number): WorkspaceRefusal | undefined {
  const missing = missingKey(workspace, nowMs);
  return missing === undefined ? undefined : unreadable(missing);
}

const STEP_OF_FAILURE: Readonly<Record<Exclude<Failure, "timeout">, AttemptStep>> = {
  dns: "name",
  "refused-address": "address",
  connect: "connect",
  tls: "tls",
  status: "status",
  body: "status",
};

/** Returns the step that failed, if any. A timeout counts as a failure of the step after the last completed step. */
function failedStep(outcome: PushOutcome, steps: readonly DoneStep[]) {
  if (outcome.ok) return undefined;
  const last = steps.at(-1);
  const step =
    outcome.failure === "timeout"
      ? (ATTEMPT_STEPS[last === undefined ? 0 : ATTEMPT_STEPS.indexOf(last.step) + 1] ?? "status")
      : STEP_OF_FAILURE[outcome.failure];
  return { step, why: outcome.detail };
}
