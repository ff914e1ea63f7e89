/**
 * An immutable map of bounded size. A write returns a new map. If the map has too many entries, the oldest entries are
 * left out. The entries are grouped in generations, newest first, so that a write copies only the newest generation.
 */
export interface Memory<Value> {
  readonly capacity: number;
  readonly generations: readonly ReadonlyMap<string, Value>[];
}

const FULL_GENERATIONS = 32;

/** Returns an empty memory. A memory keeps at least the last `capacity` writes, and only a few more. */
export function emptyMemory<Value>(capacity: number): Memory<Value> {
  return { capacity, generations: [] };
}

export function recall<Value>(memory: Memory<Value>, key: string): Value | undefined {
  return memory.generations.find((generation) => generation.has(key))?.get(key);
}

/** Returns the memory after a write. A key that is written again becomes the newest key. */
export function remember<Value>(memory: Memory<Value>, key: string, value: Value): Memory<Value> {
  const { capacity, generations } = memory;
  const [newest, ...older] = generations;
  const isFull = newest === undefined || newest.size >= Math.ceil(capacity / FULL_GENERATIONS);
  if (isFull) {
    return { capacity, generations: [new Map([[key, value]]), ...generations.slice(0, FULL_GENERATIONS)] };
  }
  return { capacity, generations: [new Map(newest).set(key, value), ...older] };
}
