import type { Delivery, LoggedDelivery } from "../domain/delivery";

/** How many lines the log of a workspace has at most: 1,000 attempts and drops, and 500 of polls. */
export const LOGGED_MAX = 1_500;

/** The deliveries of each workspace, for seven days: the last thousand attempts and drops, and the last polls. */
export interface DeliveryLog {
  /** Answers the delivery as it was logged. */
  append(workspaceId: string, delivery: Delivery): Promise<LoggedDelivery>;
  /** Newest first, from before an id on. */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
  /**
   * Watches the log from now on. Each call of the function that it answers reads what was logged since the call
   * before, oldest first. A run of polls that has grown comes again, under the same id.
   */
  watch(workspaceId: string): Promise<() => Promise<readonly LoggedDelivery[]>>;
}
