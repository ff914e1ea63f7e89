/** Strict: invalid UTF-8 is an error, and a byte order mark is not JSON. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The JSON value of a body, or undefined when it is not JSON in UTF-8 (check 1). */
export function readJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(utf8.decode(body)) };
  } catch {
    return undefined;
  }
}
