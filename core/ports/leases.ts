/** One that takes part in sharing the shards out: a core, or a stream of a group of followers. */
export interface Member {
  /** What is shared out; each has leases of its own. */
  readonly group: string;
  readonly name: string;
  /** Tells this one from any other under the same name. */
  readonly token: string;
}

/** How long a lease lasts that is not kept, ms: how long a shard rests when its holder dies. */
export const LEASE_MS = 3_000;

/** Why one is no member: a newer one has its name, or the group has as many members as it may have. */
export type NotJoined = "replaced" | "full";

/** Leases of shards. */
export interface Leases {
  readonly shards: number;
  /**
   * Says that a member is alive, and makes it one. Answers the names of all alive, in order.
   *
   * @param fresh it was not answered yet, so the name may still be an older one's
   * @param ageMs since when it is a member, which says who is the newer: a join may come late, and again
   */
  join(member: Member, fresh: boolean, ageMs?: number): Promise<readonly string[] | NotJoined>;
  leave(member: Member): Promise<void>;
  /** Takes or keeps the lease of a shard for LEASE_MS; false when another holds it. */
  take(member: Member, shard: number): Promise<boolean>;
  drop(member: Member, shard: number): Promise<void>;
}
