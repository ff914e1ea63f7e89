import { REFUSAL_STATUS, type RefusalKind } from "../../contract/requests";
import type { RefusedShape, RequestsShape } from "../../proto/json/shapes";

/** The refusals with one status. */
export interface RefusalRow {
  readonly status: number;
  /** Number of refusals in the last hour; 0 if only older samples exist. */
  readonly count: number;
  /** Samples of the refused requests, newest first. Empty if core counted the refusals but kept no sample. */
  readonly samples: readonly RefusedShape[];
}

/** Sums of the last hour. */
export interface RequestSums {
  readonly accepted: number;
  readonly refused: number;
  readonly rows: readonly RefusalRow[];
}

/**
 * Returns the sums of the last hour, and a row for each status with which requests were refused. The status of the
 * newest refusal comes first.
 */
export function requestSums({ counts, refusals }: RequestsShape): RequestSums {
  const kinds = Object.keys(REFUSAL_STATUS) as RefusalKind[];
  const statuses = [...new Set(kinds.map((kind) => REFUSAL_STATUS[kind]))];
  const rows = statuses.flatMap((status) => {
    const ofStatus = kinds.filter((kind) => REFUSAL_STATUS[kind] === status);
    const count = ofStatus.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
    const samples = refusals.filter(({ kind }) => ofStatus.includes(kind));
    return count === 0 && samples.length === 0 ? [] : [{ status, count, samples }];
  });
  const lastAt = ({ samples }: RefusalRow): string => samples[0]?.at ?? "";
  return {
    accepted: (counts.post ?? 0) + (counts.poll ?? 0),
    refused: rows.reduce((sum, { count }) => sum + count, 0),
    rows: rows.toSorted((one, other) => lastAt(other).localeCompare(lastAt(one))),
  };
}

/**
 * Returns the refusal that a new bridge must fix first: the last refused request, if the service has not accepted any
 * request in the last hour.
 */
export function blockingRefusal(requests: RequestsShape | undefined): RefusedShape | undefined {
  if (requests === undefined || requestSums(requests).accepted > 0) return undefined;
  return requests.refusals[0];
}
