/**
 * Returns the newest items that fit in `maxBytes` of JSON, newest first. A bound
 * in posts would not bound the bytes, because posts differ in length.
 */
export function newestThatFit<Item, Shown>(
  newestFirst: readonly Item[],
  maxBytes: number,
  show: (item: Item) => Shown,
): readonly Shown[] {
  const fitting: Shown[] = [];
  let bytes = 0;
  for (const item of newestFirst) {
    const shown = show(item);
    // One byte for the comma after it.
    bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (bytes > maxBytes) break;
    fitting.push(shown);
  }
  return fitting;
}
