import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import type { SendAgainResult } from "../../contract/deliveries";
import type { Delivery, LoggedDelivery, ResponseStart } from "../domain/delivery";
import type { FailedEvent } from "../domain/failed-event";

/** Maximum number of entries in the delivery log of a workspace: attempts, drops and polls. */
export const LOGGED_MAX = PUSHES_LOGGED_MAX + POLLS_LOGGED_MAX;

/** An event that was pushed without being queued. */
export interface UnqueuedEvent {
  readonly eventId: string;
  readonly sequence: number;
  readonly eventType: string;
  readonly expiresAtMs: number | null;
  /** The bytes of the event, exactly as in its push. */
  readonly envelope: Buffer;
}

/** An entry of the delivery log, and the data about it that is still stored. */
export interface LogEntryDetail {
  readonly delivery: LoggedDelivery;
  /** The start of the response to the attempt; undefined when there is none or it is no longer stored. */
  readonly response: ResponseStart | undefined;
  /** The event of an attempt or a drop, while core keeps the event as a failed event; otherwise undefined. */
  readonly failed: (FailedEvent & { readonly envelope: Buffer }) | undefined;
  /** The bytes of the events that a poll returned and that are still held, oldest first. */
  readonly held: readonly Buffer[];
}

/** The events whose pushes failed in the last day. */
export interface FailedEvents {
  /** Returns the failed events of a workspace, newest failure first. */
  list(workspaceId: string): Promise<readonly FailedEvent[]>;
  /**
   * Moves failed events to the end of the push queue, and records that the token `by` did so, in one step. Returns the
   * result for each id, in order; undefined when the workspace is not a push workspace.
   */
  sendAgain(
    workspaceId: string,
    eventIds: readonly string[],
    by: string,
  ): Promise<readonly SendAgainResult[] | undefined>;
}

/**
 * The deliveries of each workspace in the last seven days: up to 1,000 attempts and drops, and 500 entries for polls.
 * An entry for polls stands for one poll that returned events, or for a run of consecutive polls without events.
 */
export interface DeliveryLog {
  /**
   * Appends a delivery and returns it with its id and time. In the same step, stores the response to the attempt, and
   * keeps the event as a failed event, if given.
   */
  append(
    workspaceId: string,
    delivery: Delivery,
    more?: { readonly response?: ResponseStart | undefined; readonly failed?: UnqueuedEvent | undefined },
  ): Promise<LoggedDelivery>;
  /**
   * Returns up to `count` deliveries older than the delivery with the id `before`, newest first. Without `before`,
   * starts at the newest delivery.
   */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
  /**
   * Returns one entry, with the data about it that is still stored; undefined when the log does not contain the entry.
   */
  readEntry(workspaceId: string, id: string): Promise<LogEntryDetail | undefined>;
  /**
   * Starts to watch the log. Returns a function that returns the deliveries logged since its previous call, oldest
   * first. That function returns a run of polls again, with the same id, when the run has grown.
   */
  watch(workspaceId: string): Promise<() => Promise<readonly LoggedDelivery[]>>;
}
