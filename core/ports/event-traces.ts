import type { LoggedDelivery, ResponseStart } from "../domain/delivery";
import type { FailedEvent } from "../domain/failed-event";

/** An entry of an event in the delivery log, and the start of the bridge's response, if this start is still stored. */
export interface EventAttempt {
  readonly delivery: LoggedDelivery;
  readonly response: ResponseStart | undefined;
}

/**
 * Everything that the store contains about one event. `publisher` is the name of the token that published the event;
 * empty when unknown.
 */
export interface StoredTraces {
  readonly held:
    | { readonly envelope: Buffer; readonly publisher: string; readonly isFetched: boolean }
    | undefined;
  readonly queued: { readonly envelope: Buffer; readonly publisher: string } | undefined;
  readonly failed: (FailedEvent & { readonly envelope: Buffer }) | undefined;
  /** The attempts, the drop, and the polls that returned the event, oldest first. */
  readonly attempts: readonly EventAttempt[];
  /** When the event was sent again, and the name of the token with which it was sent; oldest first. */
  readonly sentAgain: readonly { readonly atMs: number; readonly by: string }[];
}

export interface EventTracesReader {
  /** @param eventId the id of an event: `evt_` and a ULID */
  read(workspaceId: string, eventId: string): Promise<StoredTraces>;
}
