/** A member of a group that shares the shards: a core, or a stream of a group of followers. */
export interface Member {
  /** The group whose members share the shards. Each group has its own leases. */
  readonly group: string;
  readonly name: string;
  /** Distinguishes this member from any other with the same name. */
  readonly token: string;
}

/** Milliseconds until a lease expires unless it is renewed. A shard waits this long when its holder crashes. */
export const LEASE_MS = 3_000;

/** Why a join fails: a newer member has the name ("replaced"), or the group has its maximum of members ("full"). */
export type NotJoined = "replaced" | "full";

/** Leases of shards. */
export interface Leases {
  readonly shards: number;
  /**
   * Adds a member to its group, or reports that it is still alive. Returns the names of all live members, in order.
   *
   * @param fresh true until the first answer for this member: its name may still belong to an older member
   * @param ageMs milliseconds since the member entered the group. They decide which of two members with one name is
   *   newer, because a join may arrive late or twice.
   */
  join(member: Member, fresh: boolean, ageMs?: number): Promise<readonly string[] | NotJoined>;
  leave(member: Member): Promise<void>;
  /** Acquires or renews the lease of a shard for LEASE_MS. Returns false when another member holds it. */
  take(member: Member, shard: number): Promise<boolean>;
  drop(member: Member, shard: number): Promise<void>;
}
