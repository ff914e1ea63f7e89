/**
 * Reads the body of an answer. Rejects, and closes the connection, when the body is longer than `bytesMax`.
 */
export async function readBounded(body: AsyncIterable<unknown> | null, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // An error within the loop closes the connection.
  for await (const part of body ?? []) {
    bytes += (part as Uint8Array).byteLength;
    if (bytes > bytesMax) throw new Error(`the answer is longer than ${bytesMax} bytes`);
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts);
}
