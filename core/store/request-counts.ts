import { REQUEST_BUCKET_MINUTES } from "../../contract/requests";
import type { HourBucket, HourCounts, RefusedRequests } from "../ports/hour-counts";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { decodeSample, encodeSample } from "./refused-sample";
import { PendingCounts, readCounts } from "./pending-counts";
import type { Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";
import { BATCH_MAX, writeCounts } from "./write-counts";

const BUCKET_MS = REQUEST_BUCKET_MINUTES * 60_000;

function toBucket(stored: Reply): HourBucket {
  const [number = "", counts = ""] = asText(stored).split(" ");
  return { startsAtMs: Number(number) * BUCKET_MS, counts: readCounts(counts) };
}

function toBuckets(reply: Reply): readonly HourBucket[] {
  return asList(reply)
    .map(toBucket)
    .toSorted((one, other) => one.startsAtMs - other.startsAtMs);
}

export function createRequestCounts(functions: Functions, keys: Keys) {
  const pending = new PendingCounts();
  const close = writeCounts(functions, keys, pending);
  const { all: read } = batchFunction<string, readonly HourBucket[]>(functions, keys, {
    name: "read_hours",
    most: BATCH_MAX,
    toArguments: (ids) => ids,
    toOutputs: (reply) => asList(reply).map(toBuckets),
  });

  const refusedRequests: RefusedRequests = {
    isWanted: (workspaceId, sampleClass) => pending.isWanted(workspaceId, sampleClass),
    keep: (workspaceId, sampleClass, sample) =>
      pending.keep(workspaceId, sampleClass, encodeSample(sample), performance.now()),
    async read(workspaceId) {
      const reply = await functions.call("read_requests", keys.prefixOf(workspaceId), [workspaceId]);
      const [buckets = [], samples = []] = asList(reply);
      const refusals = asList(samples).flatMap((each) => decodeSample(asText(each)) ?? []);
      return { buckets: toBuckets(buckets), refusals: refusals.toSorted((a, b) => b.atMs - a.atMs) };
    },
  };
  const hourCounts: HourCounts = {
    add: (workspaceId, kind, count = 1) => pending.add(workspaceId, kind, count, performance.now()),
    async read(workspaceIds) {
      const found = await read(workspaceIds, keys.shard);
      return new Map(workspaceIds.map((id, i) => [id, found[i] ?? []]));
    },
  };
  return {
    hourCounts,
    refusedRequests,
    /** Stores and logs all counts if the store is available, and stops writing counts. */
    close,
  };
}
