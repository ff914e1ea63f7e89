import { FAILED_SECONDS } from "../../contract/deliveries";
import { deliveryMode, type Workspace } from "./workspace";

/** A failed event: its push failed, and core keeps the event so that an operator can send it again. */
export interface FailedEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** Time at which the last attempt failed or the event was dropped, in ms since the epoch. */
  readonly failedAtMs: number;
  readonly expiresAtMs: number | null;
}

/**
 * Returns the time until which the event can be sent again, in ms since the epoch. Returns undefined if this time has
 * passed, or the workspace is not a push workspace.
 */
export function sendAgainUntilMs(
  { failedAtMs, expiresAtMs }: FailedEvent,
  workspace: Workspace,
  nowMs: number,
): number | undefined {
  if (deliveryMode(workspace) !== "push") return undefined;
  const untilMs = Math.min(failedAtMs + FAILED_SECONDS * 1_000, expiresAtMs ?? Infinity);
  return untilMs > nowMs ? untilMs : undefined;
}
