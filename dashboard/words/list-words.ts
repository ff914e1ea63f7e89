import { RESULT_MEANINGS } from "../../contract/deliveries";
import { healthLabel } from "../../contract/health-states";
import { stateLabel, WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import { lastContact } from "../../contract/last-contact";
import type { PeriodShape, StateCounts, SummaryShape, WorkspaceShape } from "../../proto/json/shapes";
import { TONES, type Tone } from "./health-words";
import { fromNow } from "./time-words";

/** The text of a workspace's state in the list. */
export interface StateWords {
  readonly tone: Tone;
  readonly label: string;
}

/** @param state null if it is unknown, because core runs an older release */
export function stateWords(
  {
    custom,
    connected,
    missingKey,
    mode,
  }: Pick<WorkspaceShape, "custom" | "connected" | "missingKey" | "mode">,
  state: WorkspaceState | null,
): StateWords {
  if (!custom) return { tone: "idle", label: stateLabel("native") };
  if (!connected) return { tone: "idle", label: stateLabel("disconnected") };
  if (missingKey !== "") return { tone: "bad", label: "Secret unreadable" };
  if (state === null) return { tone: "idle", label: "Not known yet" };
  if (state === "disconnected" || state === "native" || mode === "none") {
    return { tone: "idle", label: stateLabel(state) };
  }
  return { tone: TONES[state], label: healthLabel(state, mode) };
}

/** Returns the time and the result of the last contact: "32 min ago" and "503"; undefined if there was no contact. */
export function contactWords(
  summary: SummaryShape,
  nowMs: number,
): { readonly at: string; readonly ago: string; readonly what: string } | undefined {
  const contact = lastContact(summary);
  if (contact === null) return undefined;
  const { at, result } = contact;
  const isStatus = result !== null && (summary.lastAttempt?.status ?? 0) !== 0;
  const what = result === null || isStatus ? contact.words : lowered(RESULT_MEANINGS[result].words);
  return { at, ago: fromNow(Date.parse(at), nowMs), what };
}

/**
 * Returns the words with a small first letter, for use within a sentence. Words in capitals, such as TLS, stay as they
 * are.
 */
function lowered(words: string): string {
  return /^[A-Z][a-z]/.test(words) ? words.charAt(0).toLowerCase() + words.slice(1) : words;
}

export function totalOf(counts: StateCounts): number {
  return WORKSPACE_STATES.reduce((sum, state) => sum + counts[state], 0);
}

const PERIOD_MS = 5 * 60_000;
const PERIODS = 12;

/** The requests of five minutes, which are one bar in the chart. */
export interface Bar {
  readonly good: number;
  readonly bad: number;
}

/**
 * Returns the bars of the last hour, oldest first. Core's periods last five minutes, and begin at full multiples of
 * five minutes.
 */
export function barsOf(periods: readonly PeriodShape[], nowMs: number): readonly Bar[] {
  const newest = Math.floor(nowMs / PERIOD_MS);
  const bars = Array.from({ length: PERIODS }, () => ({ good: 0, bad: 0 }));
  for (const { startsAt, posts, polls, refused, pushes, failedPushes } of periods) {
    // The browser's clock can be behind core's clock, so a later period counts as the newest.
    const age = Math.max(0, newest - Math.floor(Date.parse(startsAt) / PERIOD_MS));
    const bar = bars[PERIODS - 1 - age];
    if (bar === undefined) continue;
    bar.good += posts + polls + pushes;
    bar.bad += refused + failedPushes;
  }
  return bars;
}

/** Returns the requests of the last hour in words: "1,790 polls, 12 posts, 3 refused requests". */
export function hourWords(periods: readonly PeriodShape[]): string {
  const sum = (of: (period: PeriodShape) => number) =>
    periods.reduce((total, period) => total + of(period), 0);
  const parts = [
    counted(
      sum(({ failedPushes }) => failedPushes),
      "failed push",
      "failed pushes",
    ),
    counted(
      sum(({ refused }) => refused),
      "refused request",
      "refused requests",
    ),
    counted(
      sum(({ pushes }) => pushes),
      "push",
      "pushes",
    ),
    counted(
      sum(({ posts }) => posts),
      "post",
      "posts",
    ),
    counted(
      sum(({ polls }) => polls),
      "poll",
      "polls",
    ),
  ].filter((part) => part !== "");
  return parts.length === 0 ? "no requests" : parts.join(", ");
}

function counted(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/**
 * Returns the number of workspaces that would be in a different place if the list were loaded again. The result is the
 * number of shown rows that changed their state or were deleted, or the change of the counts if that is greater.
 */
export function changesOf(
  loaded: {
    readonly summaries: Readonly<Record<string, SummaryShape>>;
    readonly counts: StateCounts | null;
  },
  fresh: {
    readonly states: Readonly<Record<string, WorkspaceState | null>>;
    readonly counts: StateCounts | null;
  },
): number {
  const moved = Object.entries(loaded.summaries).filter(
    ([id, { state }]) => fresh.states[id] !== state,
  ).length;
  const { counts } = fresh;
  const before = loaded.counts;
  if (counts === null || before === null) return moved;
  const gained = WORKSPACE_STATES.map((state) => Math.max(0, counts[state] - before[state]));
  const lost = WORKSPACE_STATES.map((state) => Math.max(0, before[state] - counts[state]));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  return Math.max(moved, sum(gained), sum(lost));
}
