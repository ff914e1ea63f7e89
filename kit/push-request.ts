import { types } from "node:util";

/**
 * The headers of a push: the `Headers` of `fetch`, or a plain object. Its names can be in upper or lower case, and its
 * values are strings or lists of strings.
 */
export type PushHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The body of a push, as received. A string is encoded as UTF-8. */
export type PushBody = Uint8Array | ArrayBuffer | string;

/** A push in the form that the signature check uses. The names of the headers are in lower case. */
export interface PushRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const BAD_HEADERS =
  "the headers of the push are not readable: pass a Headers object, or an object such as request.headers";
const BAD_BODY =
  "the signed raw bytes of the push are not readable: pass the body as a Buffer, a Uint8Array, an ArrayBuffer " +
  "or a string, before a parser changes it";

/** Returns a push, or the reason why the given values are not the headers and the body of a push. */
export function readPush(headers: unknown, body: unknown): PushRequest | { readonly fault: string } {
  const bytes = bytesOf(body);
  if (bytes === undefined) return { fault: BAD_BODY };
  const read = readHeaders(headers);
  return read === undefined ? { fault: BAD_HEADERS } : { headers: read, body: bytes };
}

/** Returns the bytes of a body; undefined for any other value, such as an object that a body parser has created. */
export function bytesOf(body: unknown): Uint8Array | undefined {
  if (typeof body === "string") return Buffer.from(body);
  if (types.isUint8Array(body)) return body;
  if (types.isAnyArrayBuffer(body)) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined;
}

function readHeaders(headers: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const entries: readonly unknown[] =
    Symbol.iterator in headers ? [...(headers as Iterable<unknown>)] : Object.entries(headers);
  const read = Object.create(null) as Record<string, string>;
  for (const entry of entries) {
    if (!Array.isArray(entry)) return undefined;
    const [name, value] = entry as readonly unknown[];
    const values = [value].flat().filter((each) => typeof each === "string");
    if (typeof name !== "string" || values.length === 0) continue;
    const key = name.toLowerCase();
    // The values of a repeated header are joined with commas, as HTTP defines.
    read[key] = [...(key in read ? [read[key]] : []), ...values].join(", ");
  }
  return read;
}
