import type { ChangeName } from "../../contract/changes";
import type { AttemptStep, DeliveryResult, EventPlace, SendAgainResult } from "../../contract/deliveries";
import type { RefusalKind, RequestKind, SignatureCause } from "../../contract/requests";
import type { HealthState } from "../../contract/health-states";
import type { WorkspaceState } from "../../contract/workspace-states";

/**
 * The JSON types that the dashboard's server sends to the front end. Times are ISO 8601 in UTC. Null means unknown or
 * absent.
 */

export type Mode = "poll" | "push" | "none";

export interface WorkspaceShape {
  readonly id: string;
  readonly name: string;
  readonly ownerEmail: string;
  /** Whether the platform is `custom`. Only `custom` workspaces have a bridge and endpoints under /hooks. */
  readonly custom: boolean;
  readonly connected: boolean;
  /** Empty for a poll workspace. */
  readonly targetUrl: string;
  readonly mode: Mode;
  /** Active secrets, newest first, without their values. */
  readonly secrets: readonly SecretShape[];
  readonly createdAt: string;
  /** The URL or email address that receives the operator events about the workspace; empty if there is none. */
  readonly operatorEventsAddress: string;
  /** Fingerprint of the key that core lacks to decrypt the signing secret; empty when the secret is readable. */
  readonly missingKey: string;
  /** Fingerprint of the key that core lacks to decrypt the secret for operator events; empty when it is readable. */
  readonly operatorEventsMissingKey: string;
}

export interface SecretShape {
  readonly createdAt: string;
  /** Expiry of a retired secret; null for the newest secret. */
  readonly expiresAt: string | null;
}

export interface DeliveryShape {
  readonly id: string;
  /** Time at which the attempt ended or the event was dropped; for a run of polls, the time of the first poll. */
  readonly at: string;
  /** Empty for a poll. */
  readonly eventId: string;
  /** The type of the event, or "poll". */
  readonly eventType: string;
  /** Number of the attempt, from 1; 0 for a poll, and for an event dropped before any attempt. */
  readonly attempt: number;
  readonly result: DeliveryResult;
  /** HTTP status of the bridge's answer; 0 when there was no answer. */
  readonly status: number;
  readonly latencyMs: number;
  readonly address: string;
  /** Number of polls in the entry; 0 unless the entry is for polls. Consecutive polls without events share an entry. */
  readonly polls: number;
  /** Time of the last poll in the entry; null unless the entry is for polls. */
  readonly lastAt: string | null;
  /** Number of events that the polls in the entry returned; 0 unless the entry is for polls. */
  readonly events: number;
  /** Summary of the event's message; null for polls, and for entries that an older release of core logged. */
  readonly summary: EventSummaryShape | null;
}

/** Summary of the message that an event creates or changes. A game chose these texts. */
export interface EventSummaryShape {
  /** Id of the channel; empty for an event without a channel. */
  readonly channel: string;
  /** Id of the member who gets a direct or an ephemeral message; empty for other events. */
  readonly userId: string;
  /** Empty for an event without a message. */
  readonly messageId: string;
  /** Start of the message as a person sees it, with the labels of its buttons in brackets; at most 80 characters. */
  readonly text: string;
}

export type HealthShape = PollHealthShape | PushHealthShape | null;

interface CommonHealthShape {
  /** State of the delivery; null if core runs an older release, which does not send this state. */
  readonly state: HealthState | null;
  /** End of the last outage; null while delivery fails, or if no outage is known. */
  readonly recoveredAt: string | null;
  /** Time of the bridge's first signed POST; null when none has arrived. */
  readonly firstPostAt: string | null;
}

export interface PollHealthShape extends CommonHealthShape {
  readonly mode: "poll";
  readonly failing: boolean;
  readonly failingSince: string | null;
  readonly lastPollAt: string | null;
  /** Number of waiting events. Core counts at most 1,000. */
  readonly waiting: number;
  readonly oldestWaitingAt: string | null;
  /**
   * Time at which core last refused an event because it held too many bytes for the workspace; null if it never did.
   */
  readonly eventsRefusedAt: string | null;
}

/**
 * The health of a push workspace, computed from the attempts that are still in the log. Counts and latencies are for
 * the last hour.
 */
export interface PushHealthShape extends CommonHealthShape {
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

/** A page of the list of workspaces. */
export interface WorkspacePage {
  readonly workspaces: readonly WorkspaceShape[];
  /** Token with which to request the next workspaces; null at the end of the list. */
  readonly next: string | null;
  /** Number of workspaces that were read for this answer. */
  readonly lookedThrough: number;
  /** A warning for operators about the whole installation, e.g. that memory is nearly full; usually null. */
  readonly notice: string | null;
  /** Summaries of the workspaces by id. A search returns none. */
  readonly summaries: Readonly<Record<string, SummaryShape>>;
  /** Null if core runs an older release, which does not count the states. */
  readonly counts: StateCounts | null;
}

/** The number of workspaces in each state. */
export type StateCounts = Readonly<Record<WorkspaceState, number>>;

/** The data that a list shows about a workspace, in addition to its `WorkspaceShape`. */
export interface SummaryShape {
  /** Null if this release does not know the state, because core runs a newer release. */
  readonly state: WorkspaceState | null;
  /** Time at which the outage began; null unless the state is `failing`. */
  readonly failingSince: string | null;
  /** End of the last outage; null while delivery fails, or if no outage is known. */
  readonly recoveredAt: string | null;
  readonly lastPollAt: string | null;
  /** The last push attempt in the log. */
  readonly lastAttempt: {
    readonly at: string;
    readonly result: DeliveryResult;
    /** HTTP status of the bridge's answer; 0 when there was no answer. */
    readonly status: number;
  } | null;
  /** The last hour's five-minute periods with at least one request, oldest first. */
  readonly lastHour: readonly PeriodShape[];
}

/** Numbers of a workspace's requests within five minutes. */
export interface PeriodShape {
  readonly startsAt: string;
  /** Number of accepted posts; `polls` counts accepted polls, and `refused` counts refused posts and polls. */
  readonly posts: number;
  readonly polls: number;
  readonly refused: number;
  /** Number of accepted pushes; `failedPushes` counts failed push attempts. */
  readonly pushes: number;
  readonly failedPushes: number;
}

/** Answer to `GET /api/summaries`: those of the requested workspaces that exist, by id. */
export interface SummariesShape {
  readonly workspaces: Readonly<
    Record<string, { readonly workspace: WorkspaceShape; readonly summary: SummaryShape | null }>
  >;
  /** Null if core runs an older release, which does not count the states. */
  readonly counts: StateCounts | null;
}

export type TestOutcome =
  | {
      readonly mode: "push";
      readonly delivery: DeliveryShape;
      readonly steps: readonly {
        readonly step: AttemptStep;
        readonly detail: string;
        readonly afterMs: number;
      }[];
      /** The step that failed; null on success. */
      readonly failedStep: AttemptStep | null;
      readonly failure: string;
    }
  | {
      readonly mode: "poll";
      readonly polledWithinLastMinute: boolean;
      readonly lastPollAt: string | null;
    };

/** The results of a test operator event, one for each address. */
export interface OperatorTestShape {
  readonly results: readonly {
    /** "workspace-hook" or "workspace-mail". */
    readonly receiver: string;
    readonly accepted: boolean;
    /** The HTTP status, or a sentence that does not end with a full stop. */
    readonly detail: string;
  }[];
}

/** A change that an operator made to a workspace. */
export interface ChangeShape {
  readonly id: string;
  readonly at: string;
  /** Name of the token with which the change was made. */
  readonly by: string;
  readonly change: ChangeName;
  /** The values before and after the change, or the number of events that were sent again; empty for other changes. */
  readonly detail: string;
}

/**
 * Answer to `GET /api/workspaces/:id/deliveries/:deliveryId`: one entry of the delivery log, with the events and the
 * response that are still stored.
 */
export interface DeliveryDetailShape {
  readonly delivery: DeliveryShape;
  /**
   * Events of the entry that are still stored, oldest first: at most 100. Empty for a delivered push, because the
   * service does not keep its event.
   */
  readonly events: readonly StoredEventShape[];
  /**
   * Start of the bridge's response body after a failed attempt; null if there was no body, or it is no longer stored.
   */
  readonly response: { readonly text: string; readonly truncated: boolean } | null;
}

export interface StoredEventShape {
  readonly id: string;
  /** The event, exactly as it appears in a push or on a page. */
  readonly json: string;
  /**
   * Time until which the event can be sent again; null unless its push failed, and it is still stored and not expired.
   */
  readonly sendAgainUntil: string | null;
}

export type EventPlaceName = EventPlace | "unknown";

/** Answer to `GET /api/workspaces/:id/events/:eventId`: what core stores about one event. */
export interface EventShape {
  readonly eventId: string;
  readonly eventType: string;
  readonly publishedAt: string | null;
  /** Null if the event never expires, or its expiry is unknown. */
  readonly expiresAt: string | null;
  /**
   * Name of the token with which the event was published: a game's token, or the token of the operator who sent a test
   * event. Empty when unknown.
   */
  readonly publisher: string;
  readonly summary: EventSummaryShape | null;
  readonly place: EventPlaceName;
  /** The event while it is held, queued or kept as a failed event; null otherwise. */
  readonly event: StoredEventShape | null;
  /** Attempts, drops, and polls that returned the event, oldest first. */
  readonly attempts: readonly EventAttemptShape[];
  /** Times at which an operator sent the event again, oldest first, with the name of the operator's token. */
  readonly sentAgain: readonly { readonly at: string; readonly by: string }[];
}

export interface EventAttemptShape {
  readonly delivery: DeliveryShape;
  readonly response: DeliveryDetailShape["response"];
}

/** An item of the answer to `GET /api/workspaces/:id/failed-events`: an event whose push failed, kept for 24 hours. */
export interface FailedEventShape {
  readonly eventId: string;
  readonly eventType: string;
  readonly failedAt: string;
  /**
   * Time until which the event can be sent again; null if the event has expired, or the workspace does not push events.
   */
  readonly sendAgainUntil: string | null;
}

/** Answer to `POST /api/workspaces/:id/send-again`. The outcomes of the pushes arrive as new deliveries. */
export interface SendAgainShape {
  readonly results: readonly { readonly eventId: string; readonly result: SendAgainResult }[];
}

export interface SessionShape {
  /** Name of the token with which the user signed in. */
  readonly tokenName: string;
  /** Ids of the workspaces to which the token is limited; null if the token is not limited. */
  readonly workspaces: readonly string[] | null;
  /** Base URL at which bridges reach the service, without a trailing slash. */
  readonly publicUrl: string;
  /** Version of the edge that serves the dashboard. */
  readonly version: string;
  /** Time at which the session ends, even if the user is active. */
  readonly endsAt: string;
  /**
   * The workspace of the demo's chat, and the URL of the chat's page without a trailing slash. Absent if no chat links
   * to this dashboard, or if the token has no access to the workspace.
   */
  readonly demo?: { readonly workspaceId: string; readonly chatUrl: string };
}

/** The requests between the service and a bridge. */
export interface RequestsShape {
  /** Number of requests of each kind in the last hour. Kinds without requests are absent. */
  readonly counts: Readonly<Partial<Record<RequestKind, number>>>;
  /** The last refused request of each kind in the last 24 hours, newest first. */
  readonly refusals: readonly RefusedShape[];
}

/** A request that was refused. Its texts are untrusted. */
export interface RefusedShape {
  readonly kind: RefusalKind;
  readonly at: string;
  readonly method: "POST" | "GET";
  readonly address: string;
  /** Name of the invalid field or parameter; null if there is none. */
  readonly field: string | null;
  /** The message of the answer, or the reason why the body is not JSON; empty when the kind says everything. */
  readonly message: string;
  /** Seconds by which the signed timestamp is ahead of the service clock, negative if it is behind. */
  readonly clockSeconds: number;
  /** Bytes of a body that is too large; 0 when unknown. */
  readonly bytes: number;
  /** The first likely cause that core found for an invalid signature; null for other refusals. */
  readonly cause: SignatureCause | null;
  /** The start of the text that core expects to be signed; empty when unknown. */
  readonly signedText: string;
  readonly missingKey: string;
}

/** Answer to `POST /api/workspaces/:id/check-signature`. */
export interface SignatureCheckShape {
  readonly valid: boolean;
  /** Number of the secret with which the digest is valid, where 1 is the newest; 0 when the digest is not valid. */
  readonly secretNumber: number;
  /** The first likely cause that core found for an invalid digest; null when the digest is valid. */
  readonly cause: SignatureCause | null;
  /** The start of the text that core expects to be signed; empty without a timestamp. */
  readonly signedText: string;
  readonly signedBytes: number;
  readonly clockSeconds: number;
  readonly stale: boolean;
}

/** Maximum number of ids in `GET /api/summaries` and `GET /api/health`. */
export const HEALTH_IDS_MAX = 100;
