import { RESULT_MEANINGS } from "../../contract/deliveries";
import { FAILING_AFTER_MS } from "../../contract/numbers";
import { DEGRADED_FOR_MS, healthLabel, type HealthState } from "../../contract/health-states";
import type {
  DeliveryShape,
  HealthShape,
  PollHealthShape,
  PushHealthShape,
  WorkspaceShape,
} from "../../proto/json/shapes";
import { adviceFor, adviceForLast } from "./advice";
import { duration, fromNow } from "./time-words";

export type Tone = "good" | "warn" | "bad" | "idle";

/** The text that describes a workspace's health. */
export interface HealthWords {
  readonly tone: Tone;
  /** A word or two. */
  readonly label: string;
  readonly sentence: string;
  /** Advice for a current fault. */
  readonly advice?: string | undefined;
}

const WAITING_COUNTED_MAX = 1_000;
/** Advice for a bridge that polls while events wait longer than FAILING_AFTER_MS. */
const WRONG_CURSOR =
  "If the number of waiting events does not fall, the bridge polls with a cursor of another workspace or service: remove the saved cursor.";
export const TONES: Readonly<Record<HealthState, Tone>> = {
  unused: "idle",
  idle: "idle",
  healthy: "good",
  recovered: "good",
  degraded: "warn",
  failing: "bad",
};
const UNKNOWN: HealthWords = {
  tone: "idle",
  label: "Not known yet",
  sentence: "The state of delivery is not known yet.",
};

/** Describes the state that core reports. The list of workspaces and the page of each workspace show this text. */
export function healthWords(
  workspace: Pick<WorkspaceShape, "custom" | "connected" | "missingKey">,
  health: HealthShape,
  nowMs: number,
): HealthWords {
  if (!workspace.custom) {
    return { tone: "idle", label: "No bridge", sentence: "The chat tool is connected without a bridge." };
  }
  if (!workspace.connected) {
    const sentence = "Events are neither accepted nor delivered until the workspace is connected again.";
    return { tone: "idle", label: "Disconnected", sentence };
  }
  if (workspace.missingKey !== "") {
    return {
      tone: "bad",
      label: "Secret unreadable",
      sentence: `The service cannot decrypt the signing secret: it lacks the key ${workspace.missingKey}. The bridge gets 503, and pushes wait.`,
      advice: `Add the key ${workspace.missingKey} to SECRETS_KEY. If the key is lost, create a new signing secret and give it to the bridge.`,
    };
  }
  const state = health?.state ?? null;
  if (health === null || state === null) return UNKNOWN;
  const { sentence, advice } =
    health.mode === "poll" ? pollWords(state, health, nowMs) : pushWords(state, health, nowMs);
  return { tone: TONES[state], label: healthLabel(state, health.mode), sentence, advice };
}

type Described = Pick<HealthWords, "sentence" | "advice">;

function pollWords(state: HealthState, health: PollHealthShape, nowMs: number): Described {
  const { lastPollAt, recoveredAt, waiting, oldestWaitingAt } = health;
  const sinceMs = oldestWaitingAt === null ? 0 : nowMs - Date.parse(oldestWaitingAt);
  const waits =
    waiting === 0
      ? "No events are waiting."
      : `${waitingWords(waiting)}, the oldest for ${duration(sinceMs)}.`;
  const polled =
    lastPollAt === null ? "The bridge has never polled." : `The bridge polled ${when(lastPollAt, nowMs)}.`;
  const sentence = `${polled} ${waits}`;
  switch (state) {
    case "failing":
      return {
        sentence,
        advice:
          "Start the bridge and check that it reaches this service with this workspace's id and secret. Events are held for 24 hours.",
      };
    case "degraded":
    case "idle":
      return {
        sentence,
        advice: "The bridge should poll every 2 seconds: check that it is still running.",
      };
    case "recovered":
      return {
        sentence: `Recovered ${when(recoveredAt, nowMs)}: the bridge polls again. ${waits}`,
        advice: sinceMs > FAILING_AFTER_MS ? WRONG_CURSOR : undefined,
      };
    case "healthy":
      return { sentence, advice: sinceMs > FAILING_AFTER_MS ? WRONG_CURSOR : undefined };
    case "unused":
      return { sentence };
  }
}

export function waitingWords(waiting: number): string {
  if (waiting >= WAITING_COUNTED_MAX)
    return `${WAITING_COUNTED_MAX.toLocaleString("en")} events or more are waiting`;
  return waiting === 1 ? "1 event is waiting" : `${waiting} events are waiting`;
}

function pushWords(state: HealthState, health: PushHealthShape, nowMs: number): Described {
  const { lastSuccess, lastFailure, attempts, successes, latencyP50Ms, recoveredAt } = health;
  const accepted = `the last push was accepted ${when(lastSuccess?.at, nowMs)}`;
  const failures = `In the last hour, ${attempts - successes} of ${attempts} attempts failed.`;
  switch (state) {
    case "failing":
      if (lastFailure === null) return UNKNOWN;
      return {
        sentence: `The last push failed ${failedWhen(lastFailure, nowMs)}.`,
        advice: adviceForLast(lastFailure),
      };
    case "degraded": {
      const isFailing = lastFailure !== null && nowMs - Date.parse(lastFailure.at) < DEGRADED_FOR_MS;
      return isFailing
        ? {
            sentence: `Some pushes fail, but ${accepted}. ${failures} The last failure was ${failedWhen(lastFailure, nowMs)}.`,
            advice: adviceFor(lastFailure),
          }
        : {
            sentence: `Events were dropped because the bridge is too slow, but ${accepted}.`,
            advice: adviceFor({ result: "overloaded", status: 0, address: "" }),
          };
    }
    case "recovered": {
      const last = lastFailure === null ? "" : ` The last failure was ${failedWhen(lastFailure, nowMs)}.`;
      return { sentence: `Recovered ${when(recoveredAt, nowMs)}: ${accepted}. ${failures}${last}` };
    }
    case "healthy": {
      const all = attempts === 1 ? "The only attempt" : `All ${attempts} attempts`;
      return {
        sentence:
          attempts === 0
            ? `There were no pushes in the last hour, and ${accepted}.`
            : `${all} in the last hour succeeded, with a median latency of ${latencyP50Ms} ms.`,
      };
    }
    case "idle":
    case "unused":
      return { sentence: "The log has no push. A test event shows whether the bridge is ready." };
  }
}

function when(at: string | null | undefined, nowMs: number): string {
  return at === null || at === undefined ? "at an unknown time" : fromNow(Date.parse(at), nowMs);
}

/** Says when and why a push failed, for use within a sentence: "2 min ago: no connection". */
function failedWhen({ at, result }: DeliveryShape, nowMs: number): string {
  const words = RESULT_MEANINGS[result].words;
  // Words in capitals, such as TLS, stay as they are.
  const what = /^[A-Z][a-z]/.test(words) ? words.charAt(0).toLowerCase() + words.slice(1) : words;
  return `${fromNow(Date.parse(at), nowMs)}: ${what}`;
}
