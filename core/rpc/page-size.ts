import { status } from "@grpc/grpc-js";
import { StatusError } from "./status";

/** Number of rows on a page if the request sets no `page_size` (pagination). */
export const PAGE_DEFAULT = 100;
export const PAGE_MAX = 1_000;

/**
 * Returns the maximum number of rows to return for a request. Throws INVALID_ARGUMENT when the requested size is too
 * large.
 */
export function readPageSize(size: number): number {
  if (size > PAGE_MAX)
    throw new StatusError(status.INVALID_ARGUMENT, `page_size must be at most ${PAGE_MAX}`);
  return size || PAGE_DEFAULT;
}
