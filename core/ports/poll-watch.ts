/** How polling of a workspace goes. Times are ms, undefined for never. */
export interface PollHealth {
  readonly failingSinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** Held, unexpired events newer than the last page served, counted up to 1,000. */
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | undefined;
}

/** A mail that is due: the polling of a workspace has come to fail. */
export interface OutageMail {
  readonly entryId: string;
  readonly workspaceId: string;
  readonly failingSinceMs: number;
  readonly oldestWaitingAtMs: number;
}

/** What a look at the poll workspaces of a shard found. */
export interface Found {
  /** The workspaces that have come to fail. */
  readonly workspaceIds: readonly string[];
  /** Mails in the outbox. */
  readonly mails: number;
  /** Mails that have left the outbox unsent, as it was full. */
  readonly mailsDropped: number;
}

/** Watches that poll workspaces poll. */
export interface PollWatch {
  /**
   * Marks workspaces of the shard whose events have waited too long, and puts one mail an
   * outage in the outbox, which the oldest mails leave, unsent, when it is full.
   */
  findFailing(shard: number): Promise<Found>;
  health(workspaceId: string): Promise<PollHealth>;
  /** The oldest mails of the shard's outbox, from after an entry on. */
  readMail(shard: number, after: string | undefined): Promise<readonly OutageMail[]>;
  removeMail(shard: number, entryId: string): Promise<void>;
}
