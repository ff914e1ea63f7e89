import { isUtf8 } from "node:buffer";

const GZIP_START = 0x1f;
const GZIP_NEXT = 0x8b;
const BOM_BYTES = [0xef, 0xbb, 0xbf];

/**
 * Returns a text that explains to the developer of a bridge why a body is not JSON. The text never contains a part of
 * the body.
 */
export function jsonFault(body: Uint8Array): string {
  if (body.length === 0) return "the body is empty";
  if (body[0] === GZIP_START && body[1] === GZIP_NEXT)
    return "the body is compressed with gzip; send it uncompressed";
  if (!isUtf8(body)) return "the body is not UTF-8";
  if (BOM_BYTES.every((byte, i) => body[i] === byte))
    return "the body begins with a byte order mark; leave it out";
  const text = Buffer.from(body).toString();
  if (/^[\w%+.-]+=[^&]*(?:&|$)/.test(text)) return "the body is a form; send JSON";
  if (/^\s*</.test(text)) return "the body is HTML or XML; send JSON";
  if (/^\s*[{[]\s*'/.test(text))
    return "the strings of the body are in single quotes; JSON needs double quotes";
  const position = parseFault(text);
  if (position === text.length) return "the body ends too early";
  return position === undefined ? "" : `the parser stopped at character ${position + 1}`;
}

/** Returns the index at which Node's parser stopped; undefined if Node does not say. */
function parseFault(text: string): number | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    if (message.startsWith("Unexpected end of JSON")) return text.length;
    const position = /at position (\d+)/.exec(message)?.[1];
    return position === undefined ? undefined : Number(position);
  }
}
