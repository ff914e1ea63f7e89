/** The steps by which Redis writes its data to the disk. */
export const PERSISTENCE_STEPS = ["append", "rewrite", "snapshot"] as const;
export type PersistenceStep = (typeof PERSISTENCE_STEPS)[number];

/** How a Redis master writes its data to the disk. */
export interface ServerPersistence {
  readonly server: string;
  /** For each step, whether its last run succeeded; also true if the step has never run. */
  readonly succeeded: Readonly<Record<PersistenceStep, boolean>>;
  /** Bytes of the append-only file; undefined while this file is turned off. */
  readonly appendOnlyBytes: number | undefined;
}

/** The times of backups of the data, as `deploy/backup/backup.sh` stores them, in seconds since the epoch. */
export interface BackupTimes {
  /** Time of the last complete backup; 0 for never. On a cluster, the oldest such time of all shards. */
  readonly completeAt: number;
  /**
   * Time of the last failed backup; 0 if the last backup was complete. On a cluster, the newest such time of all
   * shards.
   */
  readonly failedAt: number;
}

/** Reads the state of Redis persistence, and the times of the backups. */
export interface Durability {
  /** Returns the persistence of each master. */
  readPersistence(): Promise<readonly ServerPersistence[]>;
  readBackups(): Promise<BackupTimes>;
}
