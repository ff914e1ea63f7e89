import { setTimeout as sleep } from "node:timers/promises";
import { batchFunction } from "./function-batch";
import { packArguments, type Functions } from "./functions";
import type { Keys } from "./keys";
import { countsText, type Pending, type PendingCounts } from "./pending-counts";
import type { Reply } from "./redis/redis";
import { asList, asNumber } from "./redis/reply";
import { UnloggedWrites, type Unlogged } from "./unlogged-writes";

/** Maximum number of workspaces in one call that writes or reads counts. */
export const BATCH_MAX = 128;
/** Milliseconds between two writes of the counts that are due. */
const WRITE_EVERY_MS = 500;
/** Milliseconds after which a core that stops no longer waits for the store. */
const CLOSE_WITHIN_MS = 1_000;

const ALL_UNLOGGED: Unlogged = { counts: true, samples: true };

function toUnlogged(reply: Reply): Unlogged {
  const [counts = 0, samples = 0] = asList(reply).map(asNumber);
  return { counts: counts === 1, samples: samples === 1 };
}

/**
 * Stores counts when they are due, and makes Redis log them later. Returns a function that stops the regular writes,
 * and then stores and logs all counts.
 */
export function writeCounts(functions: Functions, keys: Keys, pending: PendingCounts): () => Promise<void> {
  const unlogged = new UnloggedWrites();
  const { one: write } = batchFunction<Pending, Unlogged>(functions, keys, {
    name: "add_requests",
    most: BATCH_MAX,
    toArguments: (items) =>
      items.flatMap(({ workspaceId, counts, samples }) => [
        workspaceId,
        countsText(counts),
        samples.size === 0 ? "" : packArguments([...samples].flat()),
      ]),
    toOutputs: (reply) => asList(reply).map(toUnlogged),
  });
  const { one: log } = batchFunction<string, true>(functions, keys, {
    name: "log_requests",
    most: BATCH_MAX,
    toArguments: (ids) => ids,
    toOutputs: (_reply, ids) => ids.map(() => true),
  });

  /** Stores entries. If an entry cannot be stored, it is stored later. */
  async function store(entries: readonly Pending[]): Promise<void> {
    const written = await Promise.allSettled(
      entries.map((each) => write(keys.shard(each.workspaceId), each)),
    );
    const nowMs = performance.now();
    for (const [i, entry] of entries.entries()) {
      const outcome = written[i];
      if (outcome?.status === "fulfilled") unlogged.wrote(entry.workspaceId, outcome.value, nowMs);
      else pending.putBack([entry], nowMs);
    }
  }

  /**
   * Makes Redis log the counts and samples of workspaces. Counts and samples that could not be logged are logged later.
   */
  async function logAll(ids: readonly string[]): Promise<void> {
    const logged = await Promise.allSettled(ids.map((id) => log(keys.shard(id), id)));
    const nowMs = performance.now();
    for (const [i, id] of ids.entries()) {
      if (logged[i]?.status === "rejected") unlogged.wrote(id, ALL_UNLOGGED, nowMs);
    }
  }

  async function writeDue(): Promise<void> {
    await store(pending.take(performance.now()));
    await logAll(unlogged.take(performance.now()));
  }

  let writing: Promise<void> | undefined;
  const timer = setInterval(() => {
    writing ??= writeDue().finally(() => (writing = undefined));
  }, WRITE_EVERY_MS);

  async function writeAll(): Promise<void> {
    await writing;
    await store(pending.takeAll());
    await logAll(unlogged.takeAll());
  }

  return async () => {
    clearInterval(timer);
    await Promise.race([writeAll(), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
  };
}
