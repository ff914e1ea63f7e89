import { RESULT_MEANINGS } from "../../contract/deliveries";
import type {
  DeliveryShape,
  HealthShape,
  PollHealthShape,
  PushHealthShape,
  WorkspaceShape,
} from "../../edge/dashboard/shapes";
import { adviceForLast } from "./advice";
import { duration, fromNow } from "./time-words";

export type Tone = "good" | "warn" | "bad" | "idle";

/** The text that describes a workspace's health. */
export interface HealthWords {
  readonly tone: Tone;
  /** A word or two. */
  readonly label: string;
  readonly sentence: string;
  /** Advice for the operator, if any. */
  readonly advice?: string | undefined;
}

/** A running bridge polls every few seconds, so a poll within this time means that the bridge is running. */
const POLLS_LATELY_MS = 60_000;
const WAITING_COUNTED_MAX = 1_000;
/** Milliseconds that a warning stays after a failure, so that a bridge does not look healthy between two failures. */
const STEADY_AFTER_MS = 5 * 60_000;

/** @param deliveries the known part of the log, newest first. They show when the bridge recovered. */
export function healthWords(
  workspace: Pick<WorkspaceShape, "custom" | "connected">,
  health: HealthShape,
  nowMs: number,
  deliveries: readonly DeliveryShape[] = [],
): HealthWords {
  if (!workspace.custom) {
    return { tone: "idle", label: "No bridge", sentence: "The chat tool is connected without a bridge." };
  }
  if (!workspace.connected) {
    return {
      tone: "idle",
      label: "Disconnected",
      sentence: "Events are neither accepted nor delivered.",
      advice: "Connect the workspace again to get a new signing secret.",
    };
  }
  switch (health?.mode) {
    case undefined:
      return { tone: "idle", label: "Not known yet", sentence: "The state of delivery is not known yet." };
    case "poll":
      return pollWords(health, nowMs);
    case "push":
      return pushWords(health, nowMs, deliveries);
  }
}

function pollWords(health: PollHealthShape, nowMs: number): HealthWords {
  const { failing, lastPollAt, waiting, oldestWaitingAt } = health;
  const sinceMs = oldestWaitingAt === null ? 0 : nowMs - Date.parse(oldestWaitingAt);
  const waits =
    waiting === 0
      ? "No events are waiting."
      : `${waitingWords(waiting)}, the oldest for ${duration(sinceMs)}.`;
  const polled =
    lastPollAt === null
      ? "The bridge has never polled."
      : `The bridge polled ${fromNow(Date.parse(lastPollAt), nowMs)}.`;
  if (failing) {
    return {
      tone: "bad",
      label: "Failing",
      sentence: `${polled} ${waits}`,
      advice:
        "Start the bridge and check that it reaches this service with this workspace's id and secret. Events are held for 24 hours.",
    };
  }
  if (lastPollAt === null) {
    return {
      tone: waiting > 0 ? "warn" : "idle",
      label: "Never polled",
      sentence: `${polled} ${waits}`,
      advice: "Start the bridge with this workspace's id and secret; it should poll every 2 seconds.",
    };
  }
  if (nowMs - Date.parse(lastPollAt) <= POLLS_LATELY_MS) {
    return { tone: "good", label: "Polling", sentence: `${polled} ${waits}` };
  }
  return {
    tone: waiting > 0 ? "warn" : "idle",
    label: "Quiet",
    sentence: `${polled} ${waits}`,
    advice: "The bridge should poll every 2 seconds: check that it is still running.",
  };
}

export function waitingWords(waiting: number): string {
  if (waiting >= WAITING_COUNTED_MAX)
    return `${WAITING_COUNTED_MAX.toLocaleString("en")} events or more are waiting`;
  return waiting === 1 ? "1 event is waiting" : `${waiting} events are waiting`;
}

function pushWords(
  health: PushHealthShape,
  nowMs: number,
  deliveries: readonly DeliveryShape[],
): HealthWords {
  const { lastSuccess, lastFailure, attempts, successes, latencyP50Ms } = health;
  if (lastFailure !== null && (lastSuccess === null || lastFailure.at > lastSuccess.at)) {
    return {
      tone: "bad",
      label: "Failing",
      sentence: `The last push failed ${failedWhen(lastFailure, nowMs)}.`,
      advice: adviceForLast(lastFailure),
    };
  }
  if (lastSuccess === null) {
    return {
      tone: "idle",
      label: "Nothing pushed",
      sentence: "No event has been pushed yet.",
      advice: "Send a test event to see whether the bridge is ready.",
    };
  }
  if (attempts === 0) {
    const when = fromNow(Date.parse(lastSuccess.at), nowMs);
    return {
      tone: "good",
      label: "Quiet",
      sentence: `There were no recent pushes. The bridge accepted the last push ${when}.`,
    };
  }
  if (successes < attempts && lastFailure !== null) {
    const recovered = recoveredAt(lastFailure, deliveries);
    const when = recovered === undefined ? "" : ` ${fromNow(Date.parse(recovered), nowMs)}`;
    const accepted = `the last push was accepted ${fromNow(Date.parse(lastSuccess.at), nowMs)}`;
    const failed = `${attempts - successes} of ${attempts} attempts failed`;
    return {
      tone: nowMs - Date.parse(lastFailure.at) < STEADY_AFTER_MS ? "warn" : "good",
      label: "Recovered",
      sentence: `Recovered${when}: ${accepted}. In the last hour, ${failed}. The last failure was ${failedWhen(lastFailure, nowMs)}.`,
    };
  }
  const all = attempts === 1 ? "The only attempt" : `All ${attempts} attempts`;
  return {
    tone: "good",
    label: "Pushing",
    sentence: `${all} in the last hour succeeded, with a median latency of ${latencyP50Ms} ms.`,
  };
}

/** Returns the time of the first accepted push after the last failure; undefined if `deliveries` has no such push. */
function recoveredAt(lastFailure: DeliveryShape, deliveries: readonly DeliveryShape[]): string | undefined {
  return deliveries.findLast(
    ({ at, polls, result }) => result === "success" && polls === 0 && at > lastFailure.at,
  )?.at;
}

/** Returns when and why a push failed, for use within a sentence: "2 min ago: no connection". */
function failedWhen({ at, result }: DeliveryShape, nowMs: number): string {
  const words = RESULT_MEANINGS[result].words;
  // Words in capitals, such as TLS, stay as they are.
  const what = /^[A-Z][a-z]/.test(words) ? words.charAt(0).toLowerCase() + words.slice(1) : words;
  return `${fromNow(Date.parse(at), nowMs)}: ${what}`;
}
