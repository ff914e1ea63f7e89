import type { Delivery, LoggedDelivery } from "../domain/delivery";

/** The deliveries of each workspace: the last thousand, for seven days. */
export interface DeliveryLog {
  /** Answers the delivery as it was logged. */
  append(workspaceId: string, delivery: Delivery): Promise<LoggedDelivery>;
  /** Newest first, from before an id on. */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
}
