import { LOGGED_SECONDS } from "../../contract/deliveries";
import { REQUEST_BUCKET_MINUTES, REQUEST_BUCKETS } from "../../contract/requests";
import type { DeliveryShape, HealthShape, RequestsShape, WorkspaceShape } from "../../proto/json/shapes";
import { blockingRefusal } from "./request-rows";
import { oldestKept } from "./delivery-list";

/** A step that an operator confirms, because the service cannot detect it. */
export type Tick = "stored" | "checked";
export type Ticks = Readonly<Record<Tick, boolean>>;

/** A step of connecting a bridge. */
export interface Step {
  readonly is: "secret" | "request" | "delivery" | "check";
  readonly done: boolean;
  /** The time at which the service noticed that the step was done; null if the operator confirmed the step. */
  readonly at: string | null;
}

/** Returns the time of the first signed POST, or else of the last poll; null if the bridge has sent neither. */
function firstRequestAt(health: HealthShape): string | null {
  return health?.firstPostAt ?? (health?.mode === "poll" ? health.lastPollAt : null);
}

/** The counts of accepted requests cover at least this many milliseconds. */
const COUNTED_MS = REQUEST_BUCKET_MINUTES * (REQUEST_BUCKETS - 1) * 60_000;

/**
 * Returns the time of the first signed request; null if the bridge has sent none, or only requests that were refused.
 *
 * @param requests undefined while unknown
 */
export function acceptedRequestAt(health: HealthShape, requests?: RequestsShape): string | null {
  const requestAt = firstRequestAt(health);
  const hasPolled = health?.mode === "poll" && health.lastPollAt !== null;
  // Core stores the time of the first signed request, even if the request was refused. If the bridge has not polled,
  // and no request was accepted since then, all signed requests were refused.
  const invalid = blockingRefusal(requests) && requests?.refusals.find(({ kind }) => kind === "invalid");
  const isOnlyRefused =
    invalid !== undefined && !hasPolled && Date.parse(invalid.at) - Date.parse(requestAt ?? "") < COUNTED_MS;
  return isOnlyRefused ? null : requestAt;
}

/**
 * Returns the steps to connect a bridge, in order. A signed request that was refused does not complete the step
 * "request".
 *
 * @param requests undefined while unknown
 */
export function nextSteps(health: HealthShape, ticks: Ticks, requests?: RequestsShape): readonly Step[] {
  const lastPollAt = health?.mode === "poll" ? health.lastPollAt : null;
  const requestAt = firstRequestAt(health);
  const deliveryAt = health?.mode === "push" ? (health.lastSuccess?.at ?? null) : lastPollAt;
  return [
    // A bridge that signs its requests has the secret.
    { is: "secret", done: ticks.stored || requestAt !== null, at: null },
    { is: "request", done: acceptedRequestAt(health, requests) !== null, at: requestAt },
    { is: "delivery", done: deliveryAt !== null, at: deliveryAt },
    { is: "check", done: ticks.checked, at: null },
  ];
}

/** Milliseconds after which a bridge that works is no longer new. */
const NEW_FOR_MS = 60 * 60 * 1_000;
/** Number of delivered events after which a bridge is no longer new. */
const NEW_EVENTS_MAX = 25;

/**
 * Returns whether a bridge is in use: it has worked for an hour, or has received many events. A bridge that only
 * receives pushes never sends a request, so without this rule, its workspace would look new forever.
 *
 * @param deliveries the log, newest first
 */
export function isInUse(deliveries: readonly DeliveryShape[], nowMs: number): boolean {
  const worked = deliveries.filter(({ polls, result }) => polls > 0 || result === "success");
  const first = worked.at(-1);
  if (first === undefined) return false;
  const events = worked.reduce((sum, { polls, events: fetched }) => sum + (polls > 0 ? fetched : 1), 0);
  // A full log no longer contains the first deliveries, so the bridge counts as old.
  const isOld = nowMs - Date.parse(first.at) >= NEW_FOR_MS || oldestKept(deliveries) !== undefined;
  return isOld || events > NEW_EVENTS_MAX;
}

/**
 * Returns whether a workspace's page shows the steps. The page shows the steps until all are done or the bridge is in
 * use. The page also hides the steps if the bridge has sent requests and the workspace is older than the log. The log
 * then cannot show whether a push ever succeeded.
 *
 * @param begun whether the operator connected the workspace in this browser, or confirmed a step; if not, the page hides
 *   the steps when only the step `check` is missing
 * @param isUsed the result of `isInUse`
 */
export function showsNextSteps(
  workspace: Pick<WorkspaceShape, "custom" | "connected" | "createdAt">,
  health: HealthShape,
  ticks: Ticks,
  begun: boolean,
  nowMs: number,
  isUsed = false,
): boolean {
  if (!workspace.custom || !workspace.connected || health === null || isUsed) return false;
  const missing = nextSteps(health, ticks).filter(({ done }) => !done);
  const isUnheard = missing.some(({ is }) => is === "request");
  const isNew = nowMs - Date.parse(workspace.createdAt) < LOGGED_SECONDS * 1_000;
  if (!isUnheard && !isNew) return false;
  return begun ? missing.length > 0 : missing.some(({ is }) => is !== "check");
}

/** Returns the shell command that checks the workspace's bridge. */
export function checkCommand({ mode, targetUrl }: Pick<WorkspaceShape, "mode" | "targetUrl">): string {
  const bridge = mode === "push" ? `--url '${targetUrl.replaceAll("'", "%27")}'` : "--poll";
  return `SIGNING_SECRET=… npm run check-bridge -- ${bridge}`;
}
