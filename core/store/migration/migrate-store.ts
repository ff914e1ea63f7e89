import { setTimeout as sleep } from "node:timers/promises";
import { findMigrationFault, markOf, parseMark, printMark, type StoreMark } from "../../domain/store-format";
import { StoreUnavailable } from "../../ports/store-faults";
import { createKeys, type Keys } from "../keys";
import { checkMark, readMark, UnfitStore } from "../mark";
import { connectRedis, type Redis } from "../redis/redis";
import { checkNoCores, CoresAlive, untilNoCores } from "./live-cores";
import { lockMigration, MigrationLocked } from "./migration-lock";
import { createSteps, type EventCounts, type Steps, type Target, type UnknownToOne } from "./steps";

export interface MigrationOptions {
  readonly redisUrl: string;
  /** Additional root for connections to Redis, in PEM. */
  readonly redisCa?: { readonly bytes: Buffer } | undefined;
  readonly redisWaitReplicas?: number;
  readonly shards: number;
  readonly to: Target;
  /** Only counts what a migration would convert. */
  readonly isDryRun: boolean;
  readonly reporter: MigrationReporter;
}

/** What a survey found. All fields except those of `EventCounts` are present only for a migration to format 1. */
export type Survey = EventCounts &
  Partial<UnknownToOne & { readonly operatorEvents: number; readonly sessions: number }>;

export interface Progress {
  readonly workspaces: number;
  readonly all: number;
}

export interface MigrationReporter {
  /** Called with each error of a connection to Redis. */
  unavailable(error: Error): void;
  /** Called when the migration waits until all cores have stopped, or until another migration has ended. */
  waiting(what: "cores" | "migration"): void;
  /** Called before the migration changes anything. */
  begins(from: number, isContinued: boolean): void;
  /** Called before the migration changes anything, with the amounts of data that it will convert. */
  surveyed(survey: Survey): void;
  progress(progress: Progress): void;
}

/** The end of a migration. */
export type Migrated =
  | { readonly outcome: "new" | "same" }
  | { readonly outcome: "surveyed"; readonly workspaces: number }
  | ({ readonly outcome: "migrated"; readonly workspaces: number } & EventCounts);

/** Milliseconds between two reports of the progress. */
const REPORT_EVERY_MS = 2_000;
/** Number of workspaces that are converted at the same time. */
const AT_ONCE = 16;
/** Milliseconds for which a core that is just starting may not have reported yet. */
const STARTING_MS = 1_500;

/**
 * Converts the data of a store to another format. While the migration runs, the mark keeps cores of all releases from
 * starting. After a crash, the next call continues, and counts the events of all calls.
 *
 * Throws `UnfitStore` when this release cannot convert the data; `CoresAlive` when a core runs; `MigrationLocked` when
 * another migration runs; `StoreUnavailable` when Redis is unavailable for too long.
 */
export async function migrateStore(options: MigrationOptions): Promise<Migrated> {
  const { reporter, isDryRun } = options;
  const redis = await connect(options);
  try {
    // A dry run changes nothing, so it needs no lock.
    if (isDryRun) return await start(redis, options, (migration) => migration.dryRun());
    const lock = await patiently(() => lockMigration(redis, () => reporter.waiting("migration")));
    try {
      return await start(redis, options, (migration) => migration.run(lock.renew));
    } finally {
      await lock.release().catch(() => undefined);
    }
  } finally {
    await redis.close();
  }
}

/** Throws `UnfitStore` when a core of this release cannot use the store. */
export async function checkStore(options: MigrationOptions): Promise<void> {
  const redis = await connect(options);
  try {
    await patiently(() => checkMark(redis, options.shards));
  } finally {
    await redis.close();
  }
}

/** Reads the mark of the store. Calls `work` if there is something to migrate. */
async function start(
  redis: Redis,
  options: MigrationOptions,
  work: (migration: Migration) => Promise<Migrated>,
): Promise<Migrated> {
  const { shards, to } = options;
  const text = await patiently(() => readMark(redis));
  if (text === undefined) return { outcome: "new" };
  const fault = findMigrationFault(text, shards, to);
  if (fault !== undefined) throw new UnfitStore(fault);
  const mark = parseMark(text) as StoreMark;
  // Builds between the releases of formats 1 and 2 did not store the format.
  const isCertain = mark.format !== 1;
  if (mark.format === to && mark.migratingTo === undefined && isCertain) return { outcome: "same" };
  return work(new Migration(redis, mark, text, options));
}

class Migration {
  readonly #redis: Redis;
  readonly #mark: StoreMark;
  readonly #options: MigrationOptions;
  readonly #keys: Keys;
  readonly #steps: Steps;
  /** The stored form of the mark. Only this process may change it. */
  #stored: string;
  /** Whether the lock had expired, and the mark has not been compared since then. */
  #hadExpired = false;

  constructor(redis: Redis, mark: StoreMark, stored: string, options: MigrationOptions) {
    this.#redis = redis;
    this.#mark = mark;
    this.#stored = stored;
    this.#options = options;
    this.#keys = createKeys(mark.shards);
    this.#steps = createSteps(redis, this.#keys);
  }

  /** Counts what a migration would convert. Cores may run at the same time. */
  async dryRun(): Promise<Migrated> {
    await patiently(this.#steps.load);
    const workspaces = await this.#survey();
    await patiently(this.#steps.unload);
    return { outcome: "surveyed", workspaces };
  }

  /** @param renew renews the lock of this migration */
  async run(renew: () => Promise<boolean>): Promise<Migrated> {
    const { reporter, to } = this.#options;
    await patiently(() => untilNoCores(this.#redis, this.#keys, () => reporter.waiting("cores")));
    await patiently(this.#steps.load);
    const isContinued = this.#mark.migratingTo !== undefined;
    reporter.begins(this.#mark.format, isContinued);
    if (!isContinued) await this.#begin();
    await patiently(this.#steps.stubOthers);
    const workspaces = await this.#convert(() => this.#keep(renew));
    const counts = await this.#sum();
    await patiently(() => this.#store(markOf(this.#mark.shards, to, counts.unserved)));
    for (const prefix of this.#keys.prefixes) await patiently(() => this.#steps.deleteCounts(prefix));
    await patiently(this.#steps.unload);
    return { outcome: "migrated", workspaces, ...counts };
  }

  /**
   * Keeps cores from starting. A core that read the mark before this change is found when it reports that it is alive.
   */
  async #begin(): Promise<void> {
    const { to } = this.#options;
    if (to === 1) await this.#survey();
    for (const prefix of this.#keys.prefixes) await patiently(() => this.#steps.deleteCounts(prefix));
    await patiently(() => this.#store({ ...this.#mark, migratingTo: to }));
    await sleep(STARTING_MS);
    try {
      await patiently(() => checkNoCores(this.#redis, this.#keys));
    } catch (error) {
      // Nothing is converted yet.
      if (error instanceof CoresAlive) await patiently(() => this.#store(this.#mark));
      throw error;
    }
  }

  /** Converts all workspaces. Returns their number. */
  async #convert(renew: () => Promise<void>): Promise<number> {
    const { to } = this.#options;
    const count = await this.#eachWorkspace(async (id) => {
      while (!(await patiently(() => this.#steps.convert(id, to)))) await patiently(renew);
    }, renew);
    for (const prefix of to === 2 ? this.#keys.prefixes : []) {
      await patiently(() => this.#steps.completeShard(prefix));
    }
    return count;
  }

  /** Returns the total counts of the events that all calls of the migration have processed. */
  async #sum(): Promise<EventCounts> {
    const sum = { converted: 0, expired: 0, unserved: 0 };
    for (const prefix of this.#keys.prefixes) {
      add(sum, await patiently(() => this.#steps.counts(prefix)));
    }
    return sum;
  }

  /** Reports what a migration will convert. Returns the number of workspaces. */
  async #survey(): Promise<number> {
    const { to, reporter } = this.#options;
    const sum: Record<string, number> = {};
    const count = await this.#eachWorkspace(async (id) => {
      add(sum, await patiently(() => (to === 1 ? this.#steps.surveyOne(id) : this.#steps.surveyTwo(id))));
    });
    for (const prefix of to === 1 ? this.#keys.prefixes : []) {
      add(sum, await patiently(() => this.#steps.surveyShardOne(prefix)));
    }
    reporter.surveyed({ converted: 0, expired: 0, unserved: 0, ...sum });
    return count;
  }

  /**
   * Calls `work` for each workspace, for several workspaces at a time, and reports the progress. Before each page of
   * workspaces, checks that no core has started, unless `renew` is undefined.
   */
  async #eachWorkspace(work: (id: string) => Promise<void>, renew?: () => Promise<void>): Promise<number> {
    const { reporter } = this.#options;
    const [steps, { prefixes }] = [this.#steps, this.#keys];
    let [workspaces, all, reported] = [0, 0, performance.now()];
    for (const prefix of prefixes) all += await patiently(() => steps.count(prefix));
    for (const prefix of prefixes) {
      let after: string | undefined = "";
      while (after !== undefined) {
        const from: string = after;
        if (renew !== undefined) {
          await patiently(renew);
          await patiently(() => checkNoCores(this.#redis, this.#keys));
        }
        const { ids, next } = await patiently(() => steps.page(prefix, from));
        for (let i = 0; i < ids.length; i += AT_ONCE) {
          if (renew !== undefined) await patiently(renew);
          await Promise.all(ids.slice(i, i + AT_ONCE).map(work));
          workspaces += Math.min(AT_ONCE, ids.length - i);
          if (performance.now() - reported < REPORT_EVERY_MS) continue;
          reported = performance.now();
          reporter.progress({ workspaces, all });
        }
        after = next;
      }
    }
    return workspaces;
  }

  /**
   * Renews the lock. A process that was paused can lose the lock. If another migration has run since then, cores may
   * already use the data that it converted, so this process must not convert anything.
   */
  async #keep(renew: () => Promise<boolean>): Promise<void> {
    this.#hadExpired ||= await renew();
    if (this.#hadExpired && (await readMark(this.#redis)) !== this.#stored) throw otherMigration();
    this.#hadExpired = false;
  }

  async #store(mark: StoreMark): Promise<void> {
    const next = printMark(mark);
    if (!(await this.#steps.changeMark(this.#stored, next))) throw otherMigration();
    this.#stored = next;
  }
}

const otherMigration = (): MigrationLocked =>
  new MigrationLocked("another process has migrated this Redis meanwhile: this process stops");

function add(sum: Record<string, number>, more: Readonly<Record<string, number>> | EventCounts): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
}

/** Milliseconds after which a migration gives up while Redis is unavailable, e.g. during a failover. */
const PATIENCE_MS = 60_000;
const AGAIN_MS = 250;

/** Repeats `ask` while Redis is unavailable. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() - began > PATIENCE_MS) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** Connects to Redis. Throws `StoreUnavailable` when Redis is unavailable for too long. */
async function connect({ reporter, ...options }: MigrationOptions): Promise<Redis> {
  const late = new AbortController();
  const connecting = connectRedis({
    url: options.redisUrl,
    roots: options.redisCa && [options.redisCa.bytes],
    waitReplicas: options.redisWaitReplicas,
    onError: reporter.unavailable,
  });
  const timeout = sleep(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
    throw new StoreUnavailable(`Redis did not answer within ${PATIENCE_MS / 1_000} seconds`);
  });
  try {
    return await Promise.race([connecting, timeout]);
  } finally {
    late.abort();
    timeout.catch(() => undefined);
  }
}
