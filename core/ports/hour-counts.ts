import type { RequestKind } from "../../contract/requests";

/** The requests of a workspace in five minutes, by kind. Kinds without a request are absent. */
export interface HourBucket {
  readonly startsAtMs: number;
  readonly counts: Readonly<Partial<Record<RequestKind, number>>>;
}

/**
 * Counts the requests of each workspace in the last hour, for people: the counts may miss requests after a crash, or
 * while the store is unavailable.
 */
export interface HourCounts {
  /**
   * Counts `count` requests of a workspace. Makes no call to the store, and never throws. Core stores refusals within a
   * second, and all other counts within ten seconds. A workspace that does not exist is ignored.
   */
  add(workspaceId: string, kind: RequestKind, count?: number): void;
  /**
   * Returns the buckets of the last hour that have a request, oldest first, for each of the workspaces. The read takes
   * one call to the store per shard, or one call for all shards if they are on one server.
   */
  read(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, readonly HourBucket[]>>;
}
