/** A decoder that throws on invalid UTF-8, and keeps a byte order mark, which `JSON.parse` then rejects. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Returns the JSON value of a body; undefined when the body is not JSON in UTF-8 (check 1 in docs/checks.md). If a key
 * occurs twice, the last value counts.
 */
export function readJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(utf8.decode(body)) };
  } catch {
    return undefined;
  }
}
