import { status } from "@grpc/grpc-js";
import {
  CHANGE_CODES,
  PLACE_CODES,
  RESULT_CODES,
  SEND_AGAIN_CODES,
  STATE_CODES,
  STEP_CODES,
} from "../../proto/codes";
import {
  DeliveryMode as ModeCode,
  HealthState,
  Platform as PlatformCode,
  PushStep,
  type BridgeResponse,
  type FollowGroup,
  type GetDeliveryResponse,
  type GetEventResponse,
  type ListFailedEventsResponse,
  type LoggedChange as ChangeMessage,
  type LoggedDelivery as DeliveryMessage,
  type SendAgainResponse,
  type SendTestEventResponse,
  type StoredEvent as StoredEventMessage,
  type Workspace as WorkspaceMessage,
  type WorkspaceHealth as HealthMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import type { LoggedDelivery, ResponseStart } from "../domain/delivery";
import { responseText } from "../domain/response-text";
import {
  activeSecrets,
  deliveryMode,
  lapsesAtMs,
  missingKey,
  type DeliveryMode,
  type Platform,
  type Workspace,
} from "../domain/workspace";
import type { LoggedChange } from "../domain/workspace-changes";
import type { ListedEvent, SentAgain } from "../operations/failed-events";
import type { ListedGroup } from "../operations/groups";
import type { DeliveryDetail, StoredEvent } from "../operations/read-delivery";
import type { EventDetail } from "../operations/read-event";
import type { WorkspaceHealth } from "../operations/read-health";
import type { TestEventOutcome } from "../operations/send-test-event";
import { StatusError } from "./status";

export function readPlatform(code: PlatformCode): Platform {
  switch (code) {
    case PlatformCode.UNSPECIFIED:
    case PlatformCode.CUSTOM:
      return "custom";
    case PlatformCode.NATIVE:
      return "native";
    default:
      throw new StatusError(status.INVALID_ARGUMENT, "platform is not a value of Platform");
  }
}

const PLATFORM_CODES: Readonly<Record<Platform, PlatformCode>> = {
  custom: PlatformCode.CUSTOM,
  native: PlatformCode.NATIVE,
};

const MODE_CODES: Readonly<Record<DeliveryMode, ModeCode>> = {
  poll: ModeCode.POLL,
  push: ModeCode.PUSH,
  none: ModeCode.UNSPECIFIED,
};

export function toWorkspaceMessage(workspace: Workspace, nowMs: number): WorkspaceMessage {
  return {
    id: workspace.id,
    name: workspace.name,
    ownerEmail: workspace.ownerEmail,
    platform: PLATFORM_CODES[workspace.platform],
    connected: workspace.connected,
    targetUrl: workspace.targetUrl,
    mode: MODE_CODES[deliveryMode(workspace)],
    secrets: activeSecrets(workspace, nowMs).map((secret) => ({
      createdAt: new Date(secret.createdAtMs),
      expiresAt: toDate(lapsesAtMs(secret)),
    })),
    createdAt: new Date(workspace.createdAtMs),
    operatorEventsAddress: workspace.operatorEvents?.address ?? "",
    missingKey: missingKey(workspace, nowMs) ?? "",
    operatorEventsMissingKey: (workspace.operatorEvents && missingKey(workspace.operatorEvents, nowMs)) ?? "",
  };
}

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
    summary: delivery.event && { ...delivery.event.summary },
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

export function toDetailMessage({ delivery, events, response }: DeliveryDetail): GetDeliveryResponse {
  return {
    delivery: toDeliveryMessage(delivery),
    events: events.map(toStoredMessage),
    response: response && toResponseMessage(response),
  };
}

function toStoredMessage({ eventId, json, sendAgainUntilMs }: StoredEvent): StoredEventMessage {
  return { eventId, json, sendAgainUntil: toDate(sendAgainUntilMs) };
}

function toResponseMessage(response: ResponseStart): BridgeResponse {
  return { text: responseText(response), truncated: response.isTruncated };
}

export function toEventMessage(detail: EventDetail): GetEventResponse {
  const { eventId, eventType, publisher, summary, event, attempts, sentAgain } = detail;
  return {
    eventId,
    eventType,
    publishedAt: new Date(detail.publishedAtMs),
    publisher,
    summary: summary && { ...summary },
    place: PLACE_CODES[detail.place],
    event: event && toStoredMessage(event),
    attempts: attempts.map(({ delivery, response }) => ({
      delivery: toDeliveryMessage(delivery),
      response: response && toResponseMessage(response),
    })),
    sentAgain: sentAgain.map(({ atMs, by }) => ({ at: new Date(atMs), tokenName: by })),
    expiresAt: toDate(detail.expiresAtMs ?? undefined),
  };
}

export function toFailedMessage(events: readonly ListedEvent[]): ListFailedEventsResponse {
  return {
    events: events.map(({ eventId, eventType, failedAtMs, sendAgainUntilMs }) => ({
      eventId,
      eventType,
      failedAt: new Date(failedAtMs),
      sendAgainUntil: toDate(sendAgainUntilMs),
    })),
  };
}

export function toSentMessage(results: readonly SentAgain[]): SendAgainResponse {
  return {
    results: results.map(({ eventId, result }) => ({ eventId, outcome: SEND_AGAIN_CODES[result] })),
  };
}

export function toGroupMessage(group: ListedGroup, nowMs: number): FollowGroup {
  const { members, oldestAtMs } = group;
  return {
    name: group.group,
    tokenName: group.tokenName ?? "",
    streams: members,
    unread: group.unread,
    unacked: group.unacked,
    oldestAt: toDate(oldestAtMs),
    lastStreamAt: new Date(members > 0 ? nowMs : group.lastMemberAtMs),
  };
}

export function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
