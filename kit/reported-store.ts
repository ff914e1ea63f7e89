import { openJournal } from "./journal";
import { isObject } from "./read-event";

/** An id that the bridge has reported, or the time since which ids have been saved, ms since the epoch. */
export type ReportedEntry =
  | { readonly channel: string }
  | { readonly user: string }
  | { readonly sinceMs: number };

/** A store for the ids of the channels and members that the bridge has reported. */
export interface ReportedStore {
  /** Resolves to the saved entries, oldest first. Called once, before the first `add`. */
  load(): Promise<readonly ReportedEntry[]>;
  /**
   * Appends an entry, even if the same entry is already saved. Resolves once the entry would survive a crash. The store
   * may drop the ids that were added longest ago, but must keep at least several thousand ids.
   */
  add(entry: ReportedEntry): Promise<void>;
}

/**
 * A map that limits the total length of its keys: if they are too long, it drops the keys that were put longest ago.
 */
export interface Newest<Value> {
  get(key: string): Value | undefined;
  has(key: string): boolean;
  put(key: string, value: Value): void;
  /** The values in the order of their last `put`, oldest first. */
  values(): Iterable<Value>;
}

/** Maximum total length of the ids in memory, and of the ids in the file, in UTF-16 code units. */
export const REPORTED_MAX = 4 * 1024 * 1024;
/** Length of an entry without its id, in the file and in memory. */
const ENTRY_CHARACTERS = 16;

/** Returns the length of an entry, in UTF-16 code units. */
export function lengthOf(key: string): number {
  return key.length + ENTRY_CHARACTERS;
}

/** Keeps the newest keys. `charactersMax` is the maximum total length of the keys. */
export function createNewest<Value>(charactersMax: number): Newest<Value> {
  // A Map keeps insertion order, so the oldest keys are first.
  const kept = new Map<string, Value>();
  let characters = 0;
  return {
    get: (key) => kept.get(key),
    has: (key) => kept.has(key),
    put(key, value) {
      if (!kept.delete(key)) characters += lengthOf(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (characters <= charactersMax) break;
        kept.delete(oldest);
        characters -= lengthOf(oldest);
      }
    },
    values: () => kept.values(),
  };
}

/** Returns a key for the id in an entry; a channel and a member with the same id have different keys. */
export function keyOf(entry: { readonly channel: string } | { readonly user: string }): string {
  return "user" in entry ? `u${entry.user}` : `c${entry.channel}`;
}

/**
 * Returns a store that appends entries to a file, one JSON value per line. The file keeps the newest ids, up to
 * `charactersMax` UTF-16 code units. `load` compacts the file, and so does `add` when the file has grown by
 * `charactersMax`. `load` skips lines that a crash left incomplete.
 */
export function reportedFile(path: string, charactersMax = REPORTED_MAX): ReportedStore {
  const { load, append: add } = openJournal<ReportedEntry>(path, {
    growthMax: charactersMax,
    keep(values) {
      const since: ReportedEntry[] = [];
      const newest = createNewest<ReportedEntry>(charactersMax);
      for (const value of values) {
        const entry = readEntry(value);
        if (entry === undefined) continue;
        if ("sinceMs" in entry) since[0] = entry;
        else newest.put(keyOf(entry), entry);
      }
      return [...since, ...newest.values()];
    },
  });
  return { load, add };
}

/** Returns a store that keeps nothing: after a restart, no channel or member counts as reported. */
export function reportedInMemory(): ReportedStore {
  return { load: async () => [], add: async () => undefined };
}

function readEntry(value: unknown): ReportedEntry | undefined {
  if (!isObject(value)) return undefined;
  const { channel, user, sinceMs } = value;
  if (typeof user === "string") return { user };
  if (typeof channel === "string") return { channel };
  return typeof sinceMs === "number" ? { sinceMs } : undefined;
}
