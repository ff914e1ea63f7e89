/** A member of a group: a core, or a stream of a group of followers. */
export interface Member {
  /** The group whose members share the shards. Each group has its own leases. */
  readonly group: string;
  readonly name: string;
  /** Distinguishes this member from any other member with the same name. */
  readonly token: string;
  /**
   * The workspaces whose events this member gets, if it is a stream; undefined for all workspaces. Each read also acks
   * the events of other workspaces, so that the group does not fall behind.
   */
  readonly workspaces?: ReadonlySet<string> | undefined;
}

/**
 * Milliseconds until a lease expires unless it is renewed. When a holder crashes, its shards have no holder for up to
 * this long.
 */
export const LEASE_MS = 3_000;

/** The lease group whose members are all cores. No group of games can have this name. */
export const CORES_GROUP = "!cores";

/**
 * Why a join fails. "replaced": a newer member has the same name. "full": the group already has the maximum number of
 * members.
 */
export type NotJoined = "replaced" | "full";

/** The live members of a group. */
export interface LiveMembers {
  /** The names, in order. */
  readonly names: readonly string[];
  /** Whether any member runs a release that divides the shards by an older rule: see `core/leases/owners.ts`. */
  readonly hasOlder: boolean;
}

/** Leases of shards. */
export interface Leases {
  readonly shards: number;
  /**
   * Adds a member to its group, or renews its membership (a heartbeat). Returns all live members.
   *
   * @param fresh true until the member has received its first answer, because the name may still belong to an older
   * member
   * @param ageMs milliseconds since the member entered the group. The ages show which of two members with the same name
   * is newer. The order of the joins does not show it, because a join may arrive late or twice.
   */
  join(member: Member, fresh: boolean, ageMs?: number): Promise<LiveMembers | NotJoined>;
  leave(member: Member): Promise<void>;
  /** Acquires or renews the lease of a shard for LEASE_MS. Returns false when another member holds the lease. */
  take(member: Member, shard: number): Promise<boolean>;
  drop(member: Member, shard: number): Promise<void>;
}
