/**
 * Of what comes newest first, as much as fits in so many bytes of JSON. Posts are
 * long or short as their authors like, so a number of them bounds nothing.
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
    // With the comma behind it.
    bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (bytes > maxBytes) break;
    fitting.push(shown);
  }
  return fitting;
}
