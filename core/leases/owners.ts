import { hashOf } from "../domain/shard";

/**
 * Returns the name of each shard's owner. The result depends only on the set of names, so all members compute the same
 * owners. The members' shares differ by at most one shard.
 *
 * Each shard ranks the members by a hash of the member and the shard, and is assigned to the highest-ranked member that
 * has room (rendezvous hashing). So when a member joins or leaves, most shards keep their owners. Cores of all releases
 * must compute the same owners: a new rule needs a new number in functions/leases.lua.
 *
 * @param names distinct names of the live members, at least one
 */
export function ownersOf(shards: number, names: readonly string[]): readonly string[] {
  const members = names.toSorted().map((name) => ({ name, hash: hashOf(name), part: 0 }));
  const least = Math.floor(shards / members.length);
  /** The number of members that can still get one more shard than the other members. */
  let larger = shards % members.length;
  return Array.from({ length: shards }, (_, shard) => {
    const most = larger > 0 ? least + 1 : least;
    let owner: (typeof members)[number] | undefined;
    let highest = -1;
    for (const member of members) {
      if (member.part >= most) continue;
      const rank = mix(member.hash ^ mix(shard + 1));
      if (rank > highest) [owner, highest] = [member, rank];
    }
    if (owner === undefined) throw new Error("no member has room for a shard");
    owner.part += 1;
    if (owner.part > least) larger -= 1;
    return owner.name;
  });
}

/**
 * Returns the name of each shard's owner by the rule of older releases: the shards are assigned to the members in
 * rotation (round robin). All members use this rule while a member of an older release is alive. With two rules at the
 * same time, a shard could have no owner.
 *
 * @param names the live members in the order in which Redis returns them, because older members use that order
 */
export function ownersInTurn(shards: number, names: readonly string[]): readonly string[] {
  return Array.from({ length: shards }, (_, shard) => names[shard % names.length] ?? "");
}

/** Mixes the bits of a 32-bit number, as the last step of MurmurHash3 does. Returns an integer from 0 to 2^32 - 1. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
