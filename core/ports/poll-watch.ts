import type { OperatorEventDrop } from "./operator-outbox";

/** The polling health of a workspace. Times are in ms; undefined means never. */
export interface PollHealth {
  readonly failingSinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** Number of held events that are newer than the last event served to the bridge; 1,000 if there are more. */
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | undefined;
  /** Time of the poll that ended the last outage. */
  readonly recoveredAtMs: number | undefined;
  /** Time, accurate to 10 seconds, at which an event was last refused because the held events were at their bound. */
  readonly refusedAtMs: number | undefined;
}

/** An email about an outage: the bridge of a workspace has stopped polling. */
export interface OutageMail {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly failingSinceMs: number;
  readonly oldestWaitingAtMs: number;
}

/** The result of one check of the poll workspaces of a shard. */
export interface Found {
  /** Ids of the workspaces that this check marked as failing. */
  readonly workspaceIds: readonly string[];
  /** Number of emails in the outbox. */
  readonly mails: number;
  /** Number of unsent emails that were dropped because the outbox was full. */
  readonly mailsDropped: number;
  /** Number of operator events in the outbox. */
  readonly operatorEvents: number;
  /**
   * Number of unsent operator events that were dropped, by reason: too old ("expired"), or the outbox was full
   * ("full").
   */
  readonly operatorEventsDropped: Readonly<Record<OperatorEventDrop, number>>;
}

/**
 * Finds poll workspaces whose bridges do not poll while events wait, and stores emails to the owners of these
 * workspaces.
 */
export interface PollWatch {
  /**
   * Marks poll workspaces of the shard as failing when their events have waited five minutes without a poll. Adds one
   * email per outage to the outbox. If the outbox is full, its oldest emails are dropped. Also adds the operator events
   * about poll and push workspaces that have begun to fail, and removes operator events that are too old.
   */
  findFailing(shard: number): Promise<Found>;
  health(workspaceId: string): Promise<PollHealth>;
  /** Returns the oldest emails after the entry `after` of the shard's outbox. */
  readMail(shard: number, after: string | undefined): Promise<readonly OutageMail[]>;
  removeMail(shard: number, entryId: string): Promise<void>;
}
