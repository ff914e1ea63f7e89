import type { DeliveryShape } from "../../proto/json/shapes";

/** The time at which the dashboard is viewed, in ms since the epoch. */
export const NOW = Date.parse("2026-03-01T12:00:30.000Z");

export const ago = (ms: number): string => new Date(NOW - ms).toISOString();

/** Returns a successful delivery at `NOW`. The fields in `more` replace its fields. */
export function delivery(more: Partial<DeliveryShape> = {}): DeliveryShape {
  return {
    id: `${NOW}-0`,
    at: ago(0),
    eventId: "evt_1",
    eventType: "message.create",
    attempt: 1,
    result: "success",
    status: 200,
    latencyMs: 10,
    address: "192.0.2.1",
    polls: 0,
    lastAt: null,
    events: 0,
    summary: null,
    ...more,
  };
}
