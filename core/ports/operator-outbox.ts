import type { OperatorChange } from "../domain/operator-event";

/** The reason why an unsent operator event is dropped from the outbox of its shard. */
export type OperatorEventDrop = "expired" | "full";

/** An operator event in the outbox of its shard. */
export interface StoredOperatorEvent extends OperatorChange {
  readonly entryId: string;
}

/** The operator events that are not delivered yet. The functions that change a workspace's state add them. */
export interface OperatorOutbox {
  /** Returns the oldest events after the entry `after` of the shard's outbox. */
  read(shard: number, after: string | undefined): Promise<readonly StoredOperatorEvent[]>;
  remove(shard: number, event: Pick<StoredOperatorEvent, "entryId" | "workspaceId">): Promise<void>;
}
