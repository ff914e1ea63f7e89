/**
 * Returns the newest items that fit in `maxBytes` of JSON, oldest first. A limit on
 * the number of items would not limit the bytes, because items differ in length.
 */
export function newestThatFit<Item>(oldestFirst: readonly Item[], maxBytes: number): readonly Item[] {
  let bytes = 0;
  const tooOld = oldestFirst.findLastIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1; // plus a comma
    return bytes > maxBytes;
  });
  return oldestFirst.slice(tooOld + 1);
}
