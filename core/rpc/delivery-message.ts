import { RESULT_CODES } from "../../proto/delivery-result";
import {
  LoggedDelivery as DeliveryMessage,
  PushStep,
  SendTestEventResponse,
  WorkspaceHealth as HealthMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import type { Delivery, LoggedDelivery } from "../domain/delivery";
import type { WorkspaceHealth } from "../operations/read-health";
import type { TestEventOutcome } from "../operations/send-test-event";
import type { AttemptStep } from "../ports/outside";

const STEP_CODES: Readonly<Record<AttemptStep, PushStep>> = {
  name: PushStep.NAME,
  address: PushStep.ADDRESS,
  connect: PushStep.CONNECT,
  tls: PushStep.TLS,
  send: PushStep.SEND,
  status: PushStep.STATUS,
};

export function toDeliveryMessage(delivery: Delivery | LoggedDelivery): DeliveryMessage {
  const polled = "polled" in delivery ? delivery.polled : undefined;
  return DeliveryMessage.create({
    ...("id" in delivery ? { id: delivery.id, at: new Date(delivery.atMs) } : {}),
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
  });
}

export function toHealthMessage(health: WorkspaceHealth): HealthMessage {
  switch (health?.mode) {
    case undefined:
      return HealthMessage.create();
    case "poll":
      return HealthMessage.create({
        mode: {
          $case: "poll",
          value: {
            failing: health.failingSinceMs !== undefined,
            failingSince: toDate(health.failingSinceMs),
            lastPollAt: toDate(health.lastPollAtMs),
            waiting: health.waiting,
            oldestWaitingAt: toDate(health.oldestWaitingAtMs),
          },
        },
      });
    case "push":
      return HealthMessage.create({
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
      });
  }
}

export function toTestMessage(outcome: TestEventOutcome): SendTestEventResponse {
  const { eventId } = outcome;
  if (outcome.mode === "poll") {
    const { polledWithinLastMinute, lastPollAtMs } = outcome;
    const value = { polledWithinLastMinute, lastPollAt: toDate(lastPollAtMs) };
    return SendTestEventResponse.create({ eventId, outcome: { $case: "poll", value } });
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
  return SendTestEventResponse.create({ eventId, outcome: { $case: "push", value } });
}

function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
