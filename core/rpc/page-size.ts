import { status } from "@grpc/grpc-js";
import { StatusError } from "./status";

/** Rows of a page if the request has no `page_size` (pagination). */
export const PAGE_DEFAULT = 100;
export const PAGE_MAX = 1_000;

/** Returns the number of rows that a request may get. Throws INVALID_ARGUMENT when the requested size is too large. */
export function readPageSize(size: number): number {
  if (size > PAGE_MAX)
    throw new StatusError(status.INVALID_ARGUMENT, `page_size must be at most ${PAGE_MAX}`);
  return size || PAGE_DEFAULT;
}
