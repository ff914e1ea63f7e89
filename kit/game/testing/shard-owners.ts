/** A shard of a group. */
export interface OwnedShard<Stream> {
  readonly shard: number;
  /** The stream that owns the shard. */
  owner: Stream | undefined;
  /**
   * The stream that gets the shard as soon as the owner has no unacked event of the shard. Until then, the owner gets
   * no further events of the shard.
   */
  next: Stream | undefined;
}

/**
 * Spreads shards evenly over the streams, with as few moves as possible: sets `owner` of free shards, and `next` of
 * shards that must move.
 */
export function spreadShards<Stream>(
  shards: readonly OwnedShard<Stream>[],
  streams: readonly Stream[],
): void {
  const owned = new Map<Stream, OwnedShard<Stream>[]>(streams.map((stream) => [stream, []]));
  const free: OwnedShard<Stream>[] = [];
  for (const shard of shards) {
    if (shard.next !== undefined && !owned.has(shard.next)) shard.next = undefined;
    const to = shard.next ?? shard.owner;
    if (to === undefined) free.push(shard);
    else owned.get(to)?.push(shard);
  }
  if (streams.length === 0) return;
  const fewest = Math.floor(shards.length / streams.length);
  let larger = shards.length % streams.length;
  // If the shards cannot be spread equally, the streams with the most shards keep one more, which needs the fewest
  // moves.
  const wanted = new Map<Stream, number>();
  for (const [stream] of [...owned].toSorted(([, a], [, b]) => b.length - a.length)) {
    wanted.set(stream, fewest + (larger > 0 ? 1 : 0));
    larger -= 1;
  }
  for (const [stream, of] of owned) free.push(...of.splice(wanted.get(stream) ?? 0));
  for (const [stream, of] of owned) {
    const missing = free.splice(0, Math.max(0, (wanted.get(stream) ?? 0) - of.length));
    for (const shard of missing) {
      if (shard.owner === undefined || shard.owner === stream)
        [shard.owner, shard.next] = [stream, undefined];
      else shard.next = stream;
    }
  }
}
