import type { RefusedRequest, SampleClass } from "../domain/refused-request";
import type { RequestKind } from "../../contract/requests";

/** The numbers of requests of a workspace in five minutes, by kind. Kinds without a request are absent. */
export interface HourBucket {
  readonly startsAtMs: number;
  readonly counts: Readonly<Partial<Record<RequestKind, number>>>;
}

/**
 * Counts the requests of each workspace in the last hour, to show them to people. The counts may miss requests after a
 * crash, or while the store is unavailable.
 */
export interface HourCounts {
  /**
   * Counts `count` requests of a workspace. Makes no call to the store, and never throws. Core stores refusals within a
   * second, and also the first accepted request after a refusal or a pause. It stores all other counts within ten
   * seconds. A workspace that does not exist is ignored.
   */
  add(workspaceId: string, kind: RequestKind, count?: number): void;
  /**
   * Returns, for each of the workspaces, the buckets of the last hour that contain a request, oldest first. Makes one
   * call to the store per shard, or one call for all shards if they are on one server.
   */
  read(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, readonly HourBucket[]>>;
}

/** The requests of one workspace, for the workspace's page. */
export interface WorkspaceRequests {
  /** The buckets of the last hour that contain a request, oldest first. */
  readonly buckets: readonly HourBucket[];
  /** The last sample of each class of refusals in the last 24 hours, newest first. */
  readonly refusals: readonly RefusedRequest[];
}

/** Keeps the last refused request of each class, for each workspace. */
export interface RefusedRequests {
  /**
   * Returns whether a sample would be kept. In half a second, core keeps at most one sample per workspace and class, so
   * the caller need not create others.
   */
  isWanted(workspaceId: string, sampleClass: SampleClass): boolean;
  /** Keeps a sample. Makes no call to the store, and never throws. A workspace that does not exist is ignored. */
  keep(workspaceId: string, sampleClass: SampleClass, sample: RefusedRequest): void;
  read(workspaceId: string): Promise<WorkspaceRequests>;
}
