import { healthLabel } from "../contract/health-states";
import { stateLabel } from "../contract/workspace-states";
import { lastContact } from "../contract/last-contact";
import type {
  ChangeShape,
  HealthShape,
  SummaryShape,
  TestOutcome,
  WorkspaceShape,
} from "../proto/json/shapes";
import { healthLook, painted, resultLook, type Line, type Span } from "./colour";
import { deliveryLine } from "./delivery-text";
import { factLines, tableLines } from "./table";

const NOTHING = "-";

const MODE_WORDS: Readonly<Record<WorkspaceShape["mode"], string>> = {
  poll: "poll (events are held for 24 hours)",
  push: "push (events go to the target URL)",
  none: "none (the workspace gets no events)",
};

/** A workspace as an entry of a list. The summary is null if core runs an older release. */
export type ListedWorkspace = WorkspaceShape & { readonly summary: SummaryShape | null };

export function workspaceRows(workspaces: readonly ListedWorkspace[]): readonly Line[] {
  return tableLines(
    ["id", "mode", "health", "last contact", "name"],
    workspaces.map((workspace) => [
      workspace.id,
      workspace.mode === "none" ? NOTHING : workspace.mode,
      healthCell(workspace),
      contactCell(workspace.summary),
      workspace.name,
    ]),
  );
}

function healthCell({ missingKey, mode, summary }: ListedWorkspace): Span {
  if (missingKey !== "") return painted("bad", "Secret unreadable");
  const state = summary?.state ?? null;
  if (state === null) return NOTHING;
  const isHealth = state !== "disconnected" && state !== "native";
  if (!isHealth || mode === "none") return painted("dim", stateLabel(state));
  return painted(healthLook(state), healthLabel(state, mode));
}

/**
 * Returns the time of the last contact, followed by "poll" for a poll, or the status or the result of a push attempt.
 */
function contactCell(summary: SummaryShape | null): Line {
  if (summary === null) return NOTHING;
  const contact = lastContact(summary);
  if (contact === null) return painted("dim", "never");
  if (contact.result === null) return `${contact.at} ${contact.words}`;
  return [`${contact.at} `, painted(resultLook(contact.result), contact.words)];
}

export function changeRows(changes: readonly ChangeShape[]): readonly Line[] {
  return tableLines(
    ["at", "by", "change", "detail"],
    changes.map(({ at, by, change, detail }) => [at, by, change, detail]),
  );
}

/** Returns the lines that describe a workspace, with the signing secret `secret` if given. */
export function workspaceFacts(workspace: WorkspaceShape, secret?: string): readonly Line[] {
  const {
    id,
    name,
    ownerEmail,
    custom,
    connected,
    targetUrl,
    mode,
    secrets,
    createdAt,
    operatorEventsAddress,
    missingKey,
    operatorEventsMissingKey,
  } = workspace;
  const retired = secrets.flatMap(({ expiresAt }) => expiresAt ?? []);
  const lapses = retired.length === 0 ? "" : `; the retired secrets expire at ${retired.join(", ")}`;
  return factLines([
    ["id", id],
    ["name", name],
    ["owner", ownerEmail],
    ["platform", custom ? "custom (reached through a bridge)" : "native (without a bridge)"],
    ["state", stateOf(connected)],
    ["mode", MODE_WORDS[mode]],
    ["target URL", targetUrl],
    ["operator events", operatorEventsAddress],
    ["created", createdAt],
    ["secrets", custom ? `${secrets.length} active${lapses}` : ""],
    [
      "secret unreadable",
      painted("bad", missingKey && `add the key ${missingKey} to SECRETS_KEY, or connect the workspace`),
    ],
    [
      "operator events' secret unreadable",
      painted(
        "bad",
        operatorEventsMissingKey &&
          `add the key ${operatorEventsMissingKey} to SECRETS_KEY, or set the address again`,
      ),
    ],
    ["new secret", secret ?? ""],
  ]);
}

function stateOf(connected: boolean): Span {
  return connected ? "connected" : painted("dim", "disconnected");
}

export function healthFacts(health: HealthShape): readonly Line[] {
  if (health === null) return [];
  const { mode, state, recoveredAt, firstPostAt } = health;
  const label = state === null ? "" : healthLabel(state, mode);
  const words = state === "recovered" ? `${label} at ${recoveredAt ?? "an unknown time"}` : label;
  const common: readonly (readonly [string, Line])[] = [
    ["health", painted(state === null ? undefined : healthLook(state), words)],
    ["first post", firstPostAt ?? "never"],
  ];
  if (health.mode === "poll") {
    const { failingSince, lastPollAt, waiting, oldestWaitingAt, eventsRefusedAt } = health;
    return factLines([
      ...common,
      ["failing since", painted("bad", failingSince ?? "")],
      ["last poll", lastPollAt ?? "never"],
      ["events waiting", oldestWaitingAt === null ? String(waiting) : `${waiting}, since ${oldestWaitingAt}`],
      [
        "event refused",
        eventsRefusedAt === null ? "" : `${eventsRefusedAt}, because too many bytes are held`,
      ],
    ]);
  }
  const { attempts, successes, latencyP50Ms, latencyP95Ms, latencyP99Ms, lastSuccess, lastFailure } = health;
  return factLines([
    ...common,
    ["last hour", `${successes} of ${attempts} attempts accepted`],
    [
      "latency",
      successes === 0 ? "" : `${latencyP50Ms} ms median, ${latencyP95Ms} ms p95, ${latencyP99Ms} ms p99`,
    ],
    ["last success", lastSuccess?.at ?? ""],
    ["last failure", lastFailure === null ? "" : deliveryLine(lastFailure)],
  ]);
}

/** Returns whether the test passed, and the lines that describe the outcome. */
export function testOutcome(outcome: TestOutcome): {
  readonly isGood: boolean;
  readonly lines: readonly Line[];
} {
  if (outcome.mode === "poll") {
    const { polledWithinLastMinute, lastPollAt } = outcome;
    const last = `last poll: ${lastPollAt ?? "never"}`;
    return {
      isGood: polledWithinLastMinute,
      lines: polledWithinLastMinute
        ? [painted("good", `The ping is held, and the bridge polls (${last}).`)]
        : [
            painted(
              "bad",
              `The ping is held, but the bridge has not polled within the last minute (${last}).`,
            ),
          ],
    };
  }
  const { steps, failedStep, failure, delivery } = outcome;
  const done = tableLines(
    ["after", "step", ""],
    steps.map(({ step, detail, afterMs }) => [`${afterMs} ms`, step, detail]),
  );
  return {
    isGood: failedStep === null,
    lines:
      failedStep === null
        ? [
            ...done,
            painted(
              "good",
              `The bridge accepted the ping: ${delivery.status} after ${delivery.latencyMs} ms.`,
            ),
          ]
        : [...done, painted("bad", `The push failed at the step ${failedStep}: ${failure}`)],
  };
}
