/**
 * What the dashboard's front end and its server say to each other, as JSON.
 * Instants are ISO 8601 in UTC; null stands for what is not known or not there.
 */

export type Mode = "poll" | "push" | "none";

/** What came of a delivery: the delivery log's closed list. */
export const RESULTS = [
  "success",
  "dns",
  "refused-address",
  "connect",
  "tls",
  "timeout",
  "status",
  "body",
  "expired",
  "disconnected",
  "polls",
  "overloaded",
] as const;
export type Result = (typeof RESULTS)[number];

/** The steps of a push, in order. */
export const STEPS = ["name", "address", "connect", "tls", "send", "status"] as const;
export type Step = (typeof STEPS)[number];

export interface WorkspaceShape {
  readonly id: string;
  readonly name: string;
  readonly ownerEmail: string;
  /** Whether its chat tool is reached through a bridge: only then it has hooks. */
  readonly custom: boolean;
  readonly connected: boolean;
  /** Empty for a poll workspace. */
  readonly targetUrl: string;
  readonly mode: Mode;
  /** Newest first; without what they are. */
  readonly secrets: readonly SecretShape[];
  readonly createdAt: string;
}

export interface SecretShape {
  readonly createdAt: string;
  /** When a retired secret lapses; null on the newest. */
  readonly expiresAt: string | null;
}

export interface DeliveryShape {
  readonly id: string;
  /** When it ended; of a run of polls, when the first poll came. */
  readonly at: string;
  /** Empty for a poll. */
  readonly eventId: string;
  /** The type of the event, or "poll". */
  readonly eventType: string;
  /** From 1; 0 for a poll and for a drop before any attempt. */
  readonly attempt: number;
  readonly result: Result;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly latencyMs: number;
  readonly address: string;
  /** How many polls it stands for: a run of those that brought no events is one delivery. 0 for a push. */
  readonly polls: number;
  /** When the last of these polls came; null for a push. */
  readonly lastAt: string | null;
  /** How many events these polls brought; 0 for a push. */
  readonly events: number;
}

export type HealthShape = PollHealthShape | PushHealthShape | null;

export interface PollHealthShape {
  readonly mode: "poll";
  readonly failing: boolean;
  readonly failingSince: string | null;
  readonly lastPollAt: string | null;
  /** Counted up to 1,000. */
  readonly waiting: number;
  readonly oldestWaitingAt: string | null;
}

/** By the attempts of the last hour that the log still has. */
export interface PushHealthShape {
  readonly mode: "push";
  readonly lastSuccess: DeliveryShape | null;
  readonly lastFailure: DeliveryShape | null;
  readonly attempts: number;
  readonly successes: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly latencyP99Ms: number;
}

/** A workspace with the health of its delivery. */
export interface WorkspaceView {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
}

/** A workspace with a new signing secret, which is never shown again. */
export interface WorkspaceWithSecret {
  readonly workspace: WorkspaceShape;
  readonly signingSecret: string;
}

export interface WorkspacePage {
  readonly workspaces: readonly WorkspaceShape[];
  /** Asks for what comes after; null at the end. */
  readonly next: string | null;
  /** How many workspaces were looked at for this page. */
  readonly lookedThrough: number;
}

export type TestOutcome =
  | {
      readonly mode: "push";
      readonly delivery: DeliveryShape;
      readonly steps: readonly { readonly step: Step; readonly detail: string; readonly afterMs: number }[];
      /** The step it did not get past; null on success. */
      readonly failedStep: Step | null;
      readonly failure: string;
    }
  | {
      readonly mode: "poll";
      readonly polledWithinLastMinute: boolean;
      readonly lastPollAt: string | null;
    };

export interface SessionShape {
  /** Where bridges reach the service, without a slash at its end. */
  readonly publicUrl: string;
  /** When the session ends at the latest. */
  readonly endsAt: string;
}

/** How many ids `GET /api/health` takes. */
export const HEALTH_IDS_MAX = 100;
