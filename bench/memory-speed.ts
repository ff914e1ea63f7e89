const LINE_BYTES = 64;
/**
 * Number of cache lines in the array: more than a processor's own caches hold. So most reads go to the shared cache or
 * to memory.
 */
const LINES = (16 * 1_024 * 1_024) / LINE_BYTES;
const NUMBERS_PER_LINE = LINE_BYTES / Uint32Array.BYTES_PER_ELEMENT;
const READS = 100_000;

let places: Uint32Array | undefined;
let place = 0;

/**
 * Returns the milliseconds for a fixed number of reads from memory, usually about 15. Each read depends on the previous
 * read. Other programs on the same host slow down the memory but not the processor, so `machine-speed.ts` does not
 * detect them.
 */
export function timeMemory(): number {
  places ??= cycleOfPlaces(LINES);
  const began = performance.now();
  for (let read = 0; read < READS; read++) place = places[place] ?? 0;
  return performance.now() - began;
}

/** Returns an array in which each cache line contains the position of the next line, in a random cycle of all lines. */
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
