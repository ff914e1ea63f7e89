/**
 * Returns the shard of a name (a workspace id, an address, a group): the hash of the name modulo `shards`, from 0 to
 * `shards` - 1. This function must never change, because it determines where keys are stored.
 */
export function shardOf(name: string, shards: number): number {
  return hashOf(name) % shards;
}

/** Returns the FNV-1a hash of the name's UTF-16 units, from 0 to 2^32 - 1. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}
