import { CHANGE_CODES, RESULT_CODES, STATE_CODES, STEP_CODES } from "../../proto/codes";
import {
  HealthState,
  PushStep,
  type LoggedChange as ChangeMessage,
  type LoggedDelivery as DeliveryMessage,
  type SendTestEventResponse,
  type WorkspaceHealth as HealthMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import type { LoggedDelivery } from "../domain/delivery";
import type { LoggedChange } from "../domain/workspace-changes";
import type { WorkspaceHealth } from "../operations/read-health";
import type { TestEventOutcome } from "../operations/send-test-event";

export function toDeliveryMessage(delivery: LoggedDelivery): DeliveryMessage {
  const { polled } = delivery;
  return {
    id: delivery.id,
    at: new Date(delivery.atMs),
    polls: polled?.polls ?? 0,
    lastAt: toDate(polled?.lastAtMs),
    events: polled?.events ?? 0,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    attempt: delivery.attempt,
    result: RESULT_CODES[delivery.result],
    status: delivery.status ?? 0,
    latencyMs: Math.round(delivery.latencyMs),
    address: delivery.address ?? "",
  };
}

export function toChangeMessage({ id, atMs, by, change, detail }: LoggedChange): ChangeMessage {
  return { id, at: new Date(atMs), tokenName: by, kind: CHANGE_CODES[change], detail };
}

export function toHealthMessage(health: WorkspaceHealth): HealthMessage {
  const common = {
    state: health === undefined ? HealthState.UNSPECIFIED : STATE_CODES[health.state],
    recoveredAt: toDate(health?.recoveredAtMs),
    firstPostAt: toDate(health?.firstPostAtMs),
  };
  switch (health?.mode) {
    case undefined:
      return { ...common, mode: undefined };
    case "poll":
      return {
        ...common,
        mode: {
          $case: "poll",
          value: {
            failing: health.failingSinceMs !== undefined,
            failingSince: toDate(health.failingSinceMs),
            lastPollAt: toDate(health.lastPollAtMs),
            waiting: health.waiting,
            oldestWaitingAt: toDate(health.oldestWaitingAtMs),
            eventsRefusedAt: toDate(health.refusedAtMs),
          },
        },
      };
    case "push":
      return {
        ...common,
        mode: {
          $case: "push",
          value: {
            lastSuccess: health.lastSuccess && toDeliveryMessage(health.lastSuccess),
            lastFailure: health.lastFailure && toDeliveryMessage(health.lastFailure),
            attempts: health.attempts,
            successes: health.successes,
            latencyP50Ms: health.latencyMs.p50,
            latencyP95Ms: health.latencyMs.p95,
            latencyP99Ms: health.latencyMs.p99,
          },
        },
      };
  }
}

export function toTestMessage(outcome: TestEventOutcome): SendTestEventResponse {
  const { eventId } = outcome;
  if (outcome.mode === "poll") {
    const { polledWithinLastMinute, lastPollAtMs } = outcome;
    const value = { polledWithinLastMinute, lastPollAt: toDate(lastPollAtMs) };
    return { eventId, outcome: { $case: "poll", value } };
  }
  const { delivery, steps, failed } = outcome;
  const value = {
    delivery: toDeliveryMessage(delivery),
    steps: steps.map(({ step, detail, afterMs }) => ({
      step: STEP_CODES[step],
      detail,
      afterMs: Math.round(afterMs),
    })),
    failedStep: failed === undefined ? PushStep.UNSPECIFIED : STEP_CODES[failed.step],
    failure: failed?.why ?? "",
  };
  return { eventId, outcome: { $case: "push", value } };
}

export function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
