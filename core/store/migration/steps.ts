import { SHARDS_KEY, type Keys } from "../keys";
import { createLibrary } from "../functions";
import { readMigrationLibrary } from "../read-library";
import type { Redis, Reply } from "../redis/redis";
import { stubLibraries } from "./stub-libraries";
import { asList, asNumber, asText } from "../redis/reply";

/** The functions of the migration. Each function is documented in functions/migrate.lua. */
type StepName =
  | "to_2"
  | "to_1"
  | "change_mark"
  | "read_all"
  | "count_queue"
  | "sweep_deleted"
  | "survey_2"
  | "survey_1"
  | "survey_shard_1"
  | "read_counts"
  | "delete_counts";

/** The format to which a migration converts the data. */
export type Target = 1 | 2;

/** Numbers of held events. */
export interface EventCounts {
  readonly converted: number;
  /** Events older than a day, which no release serves. */
  readonly expired: number;
  /** Events that could not be converted. */
  readonly unserved: number;
}

/** Numbers of stored items that a core of format 1 does not know. */
export interface UnknownToOne {
  readonly results: number;
  readonly failed: number;
  readonly changes: number;
  readonly polls: number;
}

/** Number of workspaces in one page of the index of a shard. */
const PAGE = 100;
/**
 * Bytes of events after which one step of converting a workspace ends, so that Redis can answer other calls between the
 * steps.
 */
const STEP_BYTES = 1_048_576;

/** The steps of a migration. Every step can be repeated. */
export type Steps = ReturnType<typeof createSteps>;

export function createSteps(redis: Redis, keys: Keys) {
  const library = readMigrationLibrary();
  // The replicas must confirm each step. Otherwise, a failover could undo a step, which could then be repeated after
  // the mark has changed.
  const { call, load } = createLibrary<StepName>(redis, library, { has: () => true });
  const numbers = (reply: Reply): readonly number[] => asList(reply).map(asNumber);
  const toCounts = (reply: Reply): EventCounts => {
    const [converted = 0, expired = 0, unserved = 0] = numbers(reply);
    return { converted, expired, unserved };
  };

  return {
    load,
    /** Stops cores that were only paused when the migration began: see `stubLibraries`. */
    stubOthers: () => stubLibraries(redis, library.name),
    /** Removes the functions of the migration from all masters. */
    async unload(): Promise<void> {
      await redis.everywhere(["FUNCTION", "DELETE", library.name]);
    },
    /** Changes the mark of the store. Returns false if another process has changed the mark meanwhile. */
    changeMark: async (stored: string, next: string) =>
      asNumber(await call("change_mark", SHARDS_KEY, [stored, next])) === 1,
    /** Returns the number of workspaces in a shard. */
    count: async (prefix: string) =>
      asNumber(await redis.command(`${prefix}:all`, ["ZCARD", `${prefix}:all`])),
    /** Returns a page of the ids of a shard's workspaces, and where the next page starts; undefined after the last page. */
    async page(prefix: string, after: string) {
      const elements = asList(await call("read_all", prefix, [after, String(PAGE)])).map(asText);
      const ids = elements.map((element) => element.slice(element.indexOf(":") + 1));
      return { ids, next: elements.length === PAGE ? elements.at(-1) : undefined };
    },
    /** Converts held events of a workspace. Returns whether all of them are converted. */
    convert: async (id: string, to: Target) =>
      asNumber(await call(`to_${to}`, keys.prefixOf(id), [id, String(STEP_BYTES)])) === 1,
    /** Converts the data that all workspaces of a shard share. */
    async completeShard(prefix: string): Promise<void> {
      let [at, bytes] = ["-", "0"];
      for (;;) {
        const reply = await call("count_queue", prefix, [at, bytes]);
        if (!Array.isArray(reply)) break;
        [at, bytes] = reply.map(asText) as [string, string];
      }
      let after = "";
      do after = asText(await call("sweep_deleted", prefix, [after]));
      while (after !== "");
    },
    surveyTwo: async (id: string) => toCounts(await call("survey_2", keys.prefixOf(id), [id])),
    async surveyOne(id: string): Promise<EventCounts & UnknownToOne> {
      const reply = numbers(await call("survey_1", keys.prefixOf(id), [id]));
      const [converted = 0, expired = 0, results = 0, failed = 0, changes = 0, polls = 0] = reply;
      return { converted, expired, unserved: 0, results, failed, changes, polls };
    },
    async surveyShardOne(prefix: string) {
      const [operatorEvents = 0, sessions = 0] = numbers(await call("survey_shard_1", prefix, []));
      return { operatorEvents, sessions };
    },
    counts: async (prefix: string) => toCounts(await call("read_counts", prefix, [])),
    deleteCounts: (prefix: string) => call("delete_counts", prefix, []),
  };
}
