import { setTimeout as sleep } from "node:timers/promises";
import { REQUEST_BUCKET_MINUTES } from "../../contract/requests";
import type { HourBucket, HourCounts, RefusedRequests } from "../ports/hour-counts";
import { batchFunction } from "./function-batch";
import { packArguments, type Functions } from "./functions";
import type { Keys } from "./keys";
import { decodeSample, encodeSample } from "./refused-sample";
import { countsText, PendingCounts, readCounts, type Pending } from "./pending-counts";
import type { Reply } from "./redis/redis";
import { asList, asText } from "./redis/reply";

/** Maximum number of workspaces in one call. */
const BATCH_MAX = 128;
const BUCKET_MS = REQUEST_BUCKET_MINUTES * 60_000;
/** Milliseconds between two writes of the counts that are due. */
const WRITE_EVERY_MS = 500;
/** Milliseconds after which a core that stops no longer waits for the store. */
const CLOSE_WITHIN_MS = 1_000;

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
  const { one: write } = batchFunction<Pending, true>(functions, keys, {
    name: "add_requests",
    most: BATCH_MAX,
    toArguments: (items) =>
      items.flatMap(({ workspaceId, counts, samples }) => [
        workspaceId,
        countsText(counts),
        samples.size === 0 ? "" : packArguments([...samples].flat()),
      ]),
    toOutputs: (_reply, items) => items.map(() => true),
  });
  const { all: read } = batchFunction<string, readonly HourBucket[]>(functions, keys, {
    name: "read_hours",
    most: BATCH_MAX,
    toArguments: (ids) => ids,
    toOutputs: (reply) => asList(reply).map(toBuckets),
  });

  let writing: Promise<void> | undefined;
  /** Stores entries. Entries that could not be stored are stored later. */
  async function store(entries: readonly Pending[]): Promise<void> {
    const written = await Promise.allSettled(
      entries.map((each) => write(keys.shard(each.workspaceId), each)),
    );
    const failed = entries.filter((_, i) => written[i]?.status === "rejected");
    pending.putBack(failed, performance.now());
  }
  const timer = setInterval(() => {
    if (writing !== undefined) return;
    const entries = pending.take(performance.now());
    if (entries.length > 0) writing = store(entries).finally(() => (writing = undefined));
  }, WRITE_EVERY_MS);

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
    /** Stores all counts, if the store is available, and ends the writes. */
    async close(): Promise<void> {
      clearInterval(timer);
      const stored = (async () => {
        await writing;
        await store(pending.takeAll());
      })();
      await Promise.race([stored, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
