import { findMarkFault, findShardsFault, markOf, parseMark, printMark } from "../domain/store-format";
import type { Functions } from "./functions";
import { SHARDS_KEY } from "./keys";
import type { Redis } from "./redis/redis";
import { asText } from "./redis/reply";

/** Thrown when this release cannot use the store: the number of shards or the format of the data is different. */
export class UnfitStore extends Error {
  /** @param isOfSetting whether the fault can be fixed by correcting the setting SHARDS */
  constructor(
    message: string,
    readonly isOfSetting = false,
  ) {
    super(message);
  }
}

/** Returns the stored mark; undefined when the store is new. */
export async function readMark(redis: Redis): Promise<string | undefined> {
  const text = await redis.command(SHARDS_KEY, ["GET", SHARDS_KEY]);
  return text === null ? undefined : asText(text);
}

/** Throws `UnfitStore` when this release cannot use a store with this mark. */
function check(text: string, shards: number): void {
  const fault = findMarkFault(text, shards);
  if (fault !== undefined) throw new UnfitStore(fault, fault === findShardsFault(text, shards));
}

/**
 * Throws `UnfitStore` when this release cannot use the store. If Redis is new or has restarted empty, stores the mark of
 * this release. The number of shards and the format form one value, so they are stored in one step.
 */
export async function keepMark(redis: Redis, shards: number): Promise<void> {
  // When its memory is full, Redis rejects SET but not GET, so the mark is read first.
  const known = await readMark(redis);
  if (known !== undefined) return check(known, shards);
  const fresh = printMark(markOf(shards));
  const other = await redis.command(SHARDS_KEY, ["SET", SHARDS_KEY, fresh, "NX", "GET"]);
  if (other !== null) check(asText(other), shards);
}

/**
 * Throws `UnfitStore` when this release cannot use the store. A missing mark is not an error, because `keepMark` stores
 * it again.
 */
export async function checkMark(redis: Redis, shards: number): Promise<void> {
  const text = await readMark(redis);
  if (text !== undefined) check(text, shards);
}

/**
 * At the first start after a migration, calls `report` with the number of events that the migration could not convert. If
 * several cores start at the same time, more than one of them may report the number.
 */
export async function reportMigration(
  redis: Redis,
  functions: Functions,
  shards: number,
  report: (unserved: number) => void = () => undefined,
): Promise<void> {
  const text = await readMark(redis);
  const unserved = text === undefined ? undefined : parseMark(text)?.unserved;
  if (text === undefined || unserved === undefined) return;
  report(unserved);
  // If this core was paused meanwhile, another migration may have changed the mark.
  await functions.call("change_mark", SHARDS_KEY, [text, printMark(markOf(shards))]);
}
