import type { DeliveryShape } from "../../proto/json/shapes";

/** Returns deliveries as JSON lines, oldest first. */
export function toJsonLines(deliveries: readonly DeliveryShape[]): string {
  return deliveries
    .toReversed()
    .map((each) => `${JSON.stringify(each)}\n`)
    .join("");
}

/** Returns the name of a file with exported deliveries. The name is valid on every common file system. */
export function exportName(workspaceId: string, nowMs: number): string {
  return `deliveries-${workspaceId}-${new Date(nowMs).toISOString().slice(0, 19).replaceAll(":", "-")}.jsonl`;
}
