import { WORKSPACE_STATES } from "../../contract/workspace-states";
import {
  CHANGE_WORDS,
  PLACE_WORDS,
  RESULT_WORDS,
  SEND_AGAIN_WORDS,
  STATE_WORDS,
  STEP_WORDS,
  WORKSPACE_STATE_WORDS,
} from "../codes";
import {
  DeliveryMode,
  Platform,
  type BridgeResponse,
  type EventSummary,
  type FailedEvent,
  type GetDeliveryResponse,
  type GetEventResponse,
  type LoggedChange,
  type LoggedDelivery,
  type SendAgainResponse,
  type SendTestEventResponse,
  type StoredEvent,
  type Workspace,
  type CountWorkspacesResponse,
  type WorkspaceHealth,
  type WorkspaceSummary,
} from "../gen/chatbridge/v1/workspace";
import type {
  ChangeShape,
  DeliveryDetailShape,
  DeliveryShape,
  EventShape,
  EventSummaryShape,
  FailedEventShape,
  HealthShape,
  Mode,
  SendAgainShape,
  StoredEventShape,
  StateCounts,
  SummaryShape,
  TestOutcome,
  WorkspaceShape,
  WorkspaceWithSecret,
} from "./shapes";
import { withoutMarkup } from "../../contract/without-markup";

const MODES: Readonly<Record<DeliveryMode, Mode>> = {
  [DeliveryMode.UNSPECIFIED]: "none",
  [DeliveryMode.POLL]: "poll",
  [DeliveryMode.PUSH]: "push",
};

export function toWorkspaceShape(workspace: Workspace | undefined): WorkspaceShape {
  const {
    id,
    name,
    ownerEmail,
    connected,
    targetUrl,
    mode,
    platform,
    secrets,
    createdAt,
    operatorEventsAddress,
    missingKey,
    operatorEventsMissingKey,
  } = there(workspace);
  return {
    id,
    name,
    ownerEmail,
    custom: platform === Platform.CUSTOM,
    connected,
    targetUrl,
    mode: MODES[mode],
    secrets: secrets.map((secret) => ({
      createdAt: there(toText(secret.createdAt)),
      expiresAt: toText(secret.expiresAt),
    })),
    createdAt: there(toText(createdAt)),
    operatorEventsAddress,
    missingKey,
    operatorEventsMissingKey,
  };
}

export function toSummaryShape(summary: WorkspaceSummary): SummaryShape {
  const { state, failingSince, recoveredAt, lastPollAt, lastAttemptAt } = summary;
  const result = RESULT_WORDS.get(summary.lastAttemptResult);
  const at = toText(lastAttemptAt);
  return {
    state: WORKSPACE_STATE_WORDS.get(state) ?? null,
    failingSince: toText(failingSince),
    recoveredAt: toText(recoveredAt),
    lastPollAt: toText(lastPollAt),
    lastAttempt:
      at === null || result === undefined ? null : { at, result, status: summary.lastAttemptStatus },
    lastHour: summary.lastHour.map((period) => ({ ...period, startsAt: there(toText(period.startsAt)) })),
  };
}

/** Returns the summaries, keyed by workspace id. */
export function toSummaryShapes(
  summaries: readonly WorkspaceSummary[],
): Readonly<Record<string, SummaryShape>> {
  return Object.fromEntries(summaries.map((each) => [each.workspaceId, toSummaryShape(each)]));
}

export function toStateCounts({ counts }: CountWorkspacesResponse): StateCounts {
  const known = new Map(counts.map(({ state, count }) => [WORKSPACE_STATE_WORDS.get(state), count]));
  return Object.fromEntries(WORKSPACE_STATES.map((state) => [state, known.get(state) ?? 0])) as StateCounts;
}

export function withSecret(answer: {
  readonly workspace?: Workspace | undefined;
  readonly signingSecret: string;
}): WorkspaceWithSecret {
  return { workspace: toWorkspaceShape(answer.workspace), signingSecret: answer.signingSecret };
}

function toEventSummaryShape(summary: EventSummary | undefined): EventSummaryShape | null {
  return summary === undefined ? null : { ...summary, text: withoutMarkup(summary.text) };
}

export function toDeliveryShape(delivery: LoggedDelivery): DeliveryShape {
  const { at, eventType, result, polls, lastAt, summary } = delivery;
  return {
    ...delivery,
    at: there(toText(at)),
    result: there(RESULT_WORDS.get(result)),
    // Older releases of core do not send `polls`: each of their entries of type `poll` is a single poll.
    polls: eventType === "poll" ? Math.max(polls, 1) : 0,
    lastAt: toText(lastAt),
    summary: toEventSummaryShape(summary),
  };
}

/** Returns undefined for an unknown kind of change, which a newer release of core may send. */
export function toChangeShape({ id, at, tokenName, kind, detail }: LoggedChange): ChangeShape | undefined {
  const change = CHANGE_WORDS.get(kind);
  return change && { id, at: there(toText(at)), by: tokenName, change, detail };
}

export function toHealthShape(health: WorkspaceHealth | undefined): HealthShape {
  const common = {
    state: (health && STATE_WORDS.get(health.state)) ?? null,
    recoveredAt: toText(health?.recoveredAt),
    firstPostAt: toText(health?.firstPostAt),
  };
  switch (health?.mode?.$case) {
    case undefined:
      return null;
    case "poll": {
      const { failingSince, lastPollAt, oldestWaitingAt, eventsRefusedAt } = health.mode.value;
      return {
        mode: "poll",
        ...common,
        ...health.mode.value,
        failingSince: toText(failingSince),
        lastPollAt: toText(lastPollAt),
        oldestWaitingAt: toText(oldestWaitingAt),
        eventsRefusedAt: toText(eventsRefusedAt),
      };
    }
    case "push": {
      const { lastSuccess, lastFailure, ...figures } = health.mode.value;
      return {
        mode: "push",
        ...common,
        lastSuccess: lastSuccess === undefined ? null : toDeliveryShape(lastSuccess),
        lastFailure: lastFailure === undefined ? null : toDeliveryShape(lastFailure),
        ...figures,
      };
    }
  }
}

export function toTestOutcome(answer: SendTestEventResponse): TestOutcome {
  const outcome = there(answer.outcome);
  if (outcome.$case === "poll") {
    const { polledWithinLastMinute, lastPollAt } = outcome.value;
    return { mode: "poll", polledWithinLastMinute, lastPollAt: toText(lastPollAt) };
  }
  const { delivery, steps, failedStep, failure } = outcome.value;
  return {
    mode: "push",
    delivery: toDeliveryShape(there(delivery)),
    steps: steps.map(({ step, detail, afterMs }) => ({ step: there(STEP_WORDS.get(step)), detail, afterMs })),
    failedStep: STEP_WORDS.get(failedStep) ?? null,
    failure,
  };
}

export function toDeliveryDetailShape(answer: GetDeliveryResponse): DeliveryDetailShape {
  const { delivery, events, response } = answer;
  return {
    delivery: toDeliveryShape(there(delivery)),
    events: events.map(toStoredShape),
    response: toResponseShape(response),
  };
}

function toStoredShape({ eventId, json, sendAgainUntil }: StoredEvent): StoredEventShape {
  return { id: eventId, json, sendAgainUntil: toText(sendAgainUntil) };
}

function toResponseShape(response: BridgeResponse | undefined): DeliveryDetailShape["response"] {
  return response === undefined ? null : { text: response.text, truncated: response.truncated };
}

export function toEventShape(answer: GetEventResponse): EventShape {
  const { eventId, eventType, publisher, publishedAt, expiresAt, summary, place, event } = answer;
  return {
    eventId,
    eventType,
    publishedAt: toText(publishedAt),
    expiresAt: toText(expiresAt),
    publisher,
    summary: toEventSummaryShape(summary),
    place: PLACE_WORDS.get(place) ?? "unknown",
    event: event === undefined ? null : toStoredShape(event),
    attempts: answer.attempts.map(({ delivery, response }) => ({
      delivery: toDeliveryShape(there(delivery)),
      response: toResponseShape(response),
    })),
    sentAgain: answer.sentAgain.map(({ at, tokenName }) => ({ at: there(toText(at)), by: tokenName })),
  };
}

export function toFailedEventShape(event: FailedEvent): FailedEventShape {
  const { eventId, eventType, failedAt, sendAgainUntil } = event;
  return { eventId, eventType, failedAt: there(toText(failedAt)), sendAgainUntil: toText(sendAgainUntil) };
}

export function toSendAgainShape({ results }: SendAgainResponse): SendAgainShape {
  return {
    results: results.map(({ eventId, outcome }) => ({
      eventId,
      result: there(SEND_AGAIN_WORDS.get(outcome)),
    })),
  };
}

function toText(at: Date | undefined): string | null {
  return at?.toISOString() ?? null;
}

/** Returns a value that core always sends. Throws when the value is missing. */
function there<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("core's answer lacks a required field");
  return value;
}
