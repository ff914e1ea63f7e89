import type { Delivery, LoggedDelivery } from "../domain/delivery";

/** How many attempts and drops the log of a workspace has. */
export const PUSHES_LOGGED_MAX = 1_000;
/** How many lines it has in all, those of polls included. */
export const LOGGED_MAX = PUSHES_LOGGED_MAX + 500;

/** The deliveries of each workspace, for seven days: the last thousand attempts and drops, and the last polls. */
export interface DeliveryLog {
  /** Answers the delivery as it was logged. */
  append(workspaceId: string, delivery: Delivery): Promise<LoggedDelivery>;
  /** Newest first, from before an id on. */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
  /**
   * Watches the log from now on. Each call of the function that it answers reads what was logged since the call
   * before, oldest first. A run of polls that has grown is answered again, under the same id.
   */
  watch(workspaceId: string): Promise<() => Promise<readonly LoggedDelivery[]>>;
}
