/**
 * Returns the newest items, oldest first, that fit in `maxBytes` of JSON. A
 * bound in posts would not bound the bytes, because posts differ in length.
 */
export function newestThatFit<Item>(oldestFirst: readonly Item[], maxBytes: number): readonly Item[] {
  let bytes = 0;
  const tooOld = oldestFirst.findLastIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1; // and a comma
    return bytes > maxBytes;
  });
  return oldestFirst.slice(tooOld + 1);
}
