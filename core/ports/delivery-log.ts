import type { Delivery, LoggedDelivery } from "../domain/delivery";

/** The deliveries of each workspace: the last thousand, for seven days. */
export interface DeliveryLog {
  append(workspaceId: string, delivery: Delivery): Promise<void>;
  /** Newest first, from before an id on. */
  read(workspaceId: string, count: number, before: string | undefined): Promise<readonly LoggedDelivery[]>;
}
