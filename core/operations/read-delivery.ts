import type { LoggedDelivery, ResponseStart } from "../domain/delivery";
import { eventIdOf } from "../domain/envelope";
import { sendAgainUntilMs } from "../domain/failed-event";
import type { Clock } from "../ports/outside";
import type { DeliveryLog } from "../ports/delivery-log";
import type { Workspaces } from "../ports/workspaces";
import { NOT_FOUND, type WorkspaceRefusal } from "./workspaces";

export interface ReadDeliveryContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly deliveryLog: DeliveryLog;
}

/** An event that is still stored. */
export interface StoredEvent {
  readonly eventId: string;
  /** The event, exactly as it appears in a push or on a page. */
  readonly json: string;
  /** Time until which the event can be sent again, in ms since the epoch; undefined if it cannot be sent again. */
  readonly sendAgainUntilMs: number | undefined;
}

export interface DeliveryDetail {
  readonly delivery: LoggedDelivery;
  /** Oldest first. */
  readonly events: readonly StoredEvent[];
  readonly response: ResponseStart | undefined;
}

/** Reads one entry of a workspace's log; "no-entry" when the log does not contain the entry. */
export async function readDelivery(
  { now, workspaces, deliveryLog }: ReadDeliveryContext,
  workspaceId: string,
  deliveryId: string,
): Promise<DeliveryDetail | "no-entry" | WorkspaceRefusal> {
  const record = await workspaces.read(workspaceId);
  if (record === undefined) return NOT_FOUND;
  const entry = await deliveryLog.readEntry(workspaceId, deliveryId);
  if (entry === undefined) return "no-entry";
  const { delivery, response, failed, held } = entry;
  const heldEvents = held.map((bytes) => toStored(bytes, undefined));
  const events =
    failed === undefined
      ? heldEvents
      : [toStored(failed.envelope, sendAgainUntilMs(failed, record.workspace, now()))];
  return { delivery, events, response };
}

function toStored(bytes: Buffer, untilMs: number | undefined): StoredEvent {
  const json = bytes.toString("utf8");
  return { eventId: eventIdOf(json), json, sendAgainUntilMs: untilMs };
}
