/** The polling health of a workspace. Times are ms; undefined means never. */
export interface PollHealth {
  readonly failingSinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** Number of held, unexpired events after the last page served, counted up to 1,000. */
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | undefined;
}

/** An email to send: the polling of a workspace has begun to fail. */
export interface OutageMail {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly failingSinceMs: number;
  readonly oldestWaitingAtMs: number;
}

/** The result of one check of the poll workspaces of a shard. */
export interface Found {
  /** The workspaces whose polling has begun to fail. */
  readonly workspaceIds: readonly string[];
  /** Number of emails in the outbox. */
  readonly mails: number;
  /** Number of emails that were removed unsent because the outbox was full. */
  readonly mailsDropped: number;
}

/** Finds poll workspaces that do not poll, and keeps the emails about them. */
export interface PollWatch {
  /**
   * Marks the workspaces of the shard whose events have waited too long, and adds one email per outage to the outbox.
   * A full outbox drops its oldest emails unsent.
   */
  findFailing(shard: number): Promise<Found>;
  health(workspaceId: string): Promise<PollHealth>;
  /** Returns the oldest emails of the shard's outbox, starting after the entry `after`. */
  readMail(shard: number, after: string | undefined): Promise<readonly OutageMail[]>;
  removeMail(shard: number, entryId: string): Promise<void>;
}
