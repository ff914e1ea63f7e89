/** A copy of the map with the entry set and last; the first ones go when there are more than `max`. */
export function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V, max: number): ReadonlyMap<K, V> {
  const next = new Map(map);
  next.delete(key);
  next.set(key, value);
  for (const oldest of next.keys()) {
    if (next.size <= max) break;
    next.delete(oldest);
  }
  return next;
}

/** A copy of the map without the entry. */
export function withoutEntry<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const next = new Map(map);
  next.delete(key);
  return next;
}
