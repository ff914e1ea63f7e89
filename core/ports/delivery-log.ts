import { POLLS_LOGGED_MAX, PUSHES_LOGGED_MAX } from "../../contract/deliveries";
import type { Delivery, LoggedDelivery } from "../domain/delivery";

/** Number of all lines that the log keeps, including those of polls. */
export const LOGGED_MAX = PUSHES_LOGGED_MAX + POLLS_LOGGED_MAX;

/** The deliveries of each workspace in the last seven days: up to 1,000 attempts and drops, and up to 500 lines of polls. */
export interface DeliveryLog {
  /** Appends a delivery and returns it with its id and time. */
  append(workspaceId: string, delivery: Delivery): Promise<LoggedDelivery>;
  /** Returns up to `count` deliveries older than the id `before`, newest first. Without `before`, starts at the newest. */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
  /**
   * Starts to watch the log. Each call of the returned function returns the deliveries logged since the previous call,
   * oldest first. A run of polls that has grown is returned again, with the same id.
   */
  watch(workspaceId: string): Promise<() => Promise<readonly LoggedDelivery[]>>;
}
