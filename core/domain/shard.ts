/**
 * The shard that a name (a workspace id, an address, a group) belongs to,
 * 0 to `shards` - 1: FNV-1a over its UTF-16 units. It must never change, since
 * it says where stored keys are.
 */
export function shardOf(name: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % shards;
}
