import type { WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import type { DeliveryShape } from "../proto/json/shapes";
import { toDeliveryShape } from "../proto/json/workspace-json";
import type { Core } from "./core";

/** Core's maximum number of deliveries per call. */
const PAGE_MAX = 1_000;

/** Reads the whole log of a workspace, newest first. */
export async function readDeliveries(
  { call, methods }: Core<WorkspaceServiceClient>,
  workspaceId: string,
): Promise<readonly DeliveryShape[]> {
  const found: DeliveryShape[] = [];
  let pageToken = "";
  do {
    const page = { workspaceId, pageSize: PAGE_MAX, pageToken };
    const { deliveries, nextPageToken } = await call(methods.listDeliveries, page);
    found.push(...deliveries.map(toDeliveryShape));
    pageToken = nextPageToken;
  } while (pageToken !== "");
  return found;
}
