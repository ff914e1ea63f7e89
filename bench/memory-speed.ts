const LINE_BYTES = 64;
/** More lines than the processor's own caches hold, so that most reads go to the cache that all processors share, or to memory. */
const LINES = (16 * 1_024 * 1_024) / LINE_BYTES;
const NUMBERS_PER_LINE = LINE_BYTES / Uint32Array.BYTES_PER_ELEMENT;
const READS = 100_000;

let places: Uint32Array | undefined;
let place = 0;

/**
 * Returns the milliseconds for a fixed number of reads from memory, each of which depends on the one before: about 15 ms.
 * Other programs on the same host make memory slower but not the processor, so the fixed piece of work of
 * `machine-speed.ts` does not show them.
 */
export function timeMemory(): number {
  places ??= cycleOfPlaces(LINES);
  const began = performance.now();
  for (let read = 0; read < READS; read++) place = places[place] ?? 0;
  return performance.now() - began;
}

/** Returns an array in which each line of the cache has the place of the next one, in a random cycle of all lines. */
export function cycleOfPlaces(lines: number): Uint32Array {
  const cycle = new Uint32Array(lines * NUMBERS_PER_LINE);
  const order = Uint32Array.from({ length: lines }, (_, line) => line * NUMBERS_PER_LINE);
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * last);
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  order.forEach((from, at) => (cycle[from] = order[(at + 1) % order.length] ?? 0));
  return cycle;
}
