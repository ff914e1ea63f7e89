/** Returns a copy of the map with the entry set as the last; drops the first entries beyond `max`. */
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

/** Returns a copy of the map without the entry. */
export function withoutEntry<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const next = new Map(map);
  next.delete(key);
  return next;
}
