/** The state of a Redis master, from INFO. Each result of a write is "ok" or "err". */
export interface MasterInfo {
  readonly version: string;
  /** The memory that Redis compares with its limit. */
  readonly usedBytes: number;
  /** The limit of the memory; undefined when there is no limit. */
  readonly maxBytes: number | undefined;
  /** Whether `maxBytes` is REDIS_MEMORY_BYTES, because the server has no `maxmemory`. */
  readonly isMaxAssumed: boolean;
  /** The result of the last write to the append-only file; undefined without such a file. */
  readonly fileWrite: string | undefined;
  /** The result of the last rewrite of the append-only file; undefined without such a file. */
  readonly fileRewrite: string | undefined;
  /** Bytes of the append-only file; undefined without such a file. */
  readonly fileBytes: number | undefined;
  readonly snapshot: string;
  /** Number of replicas that are connected and online. */
  readonly replicas: number;
}

/** The settings of a Redis master, from CONFIG GET, that determine which data can be lost. */
export interface MasterSettings {
  readonly appendOnly: string;
  readonly appendFsync: string;
  readonly save: string;
  readonly maxmemoryPolicy: string;
}

export interface MasterFacts {
  readonly server: string;
  /** Undefined when the Redis user may not run INFO. */
  readonly info: MasterInfo | undefined;
  /** Undefined when the Redis user may not run CONFIG GET. */
  readonly settings: MasterSettings | undefined;
}

/** Facts about the installation that the store knows. */
export interface StoreFacts {
  /** The number of the format in which this core stores its data. */
  readonly storeFormat: number;
  /** The number of the format of the stored data; 0 when the stored mark is invalid. */
  readonly storedFormat: number;
  readonly shards: number;
  /** Number of shards that no live member of the group holds. */
  readonly freeShards: number;
  /** Number of live members of the group. */
  readonly cores: number;
  readonly masters: readonly MasterFacts[];
}

export interface Installation {
  /** @param group the lease group whose members are all cores */
  read(group: string): Promise<StoreFacts>;
}
