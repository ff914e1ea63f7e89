import { isUtf8 } from "node:buffer";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A reader that exposes its bytes, so that they can be examined without a copy. */
export class WireReader extends BinaryReader {
  constructor(readonly source: Buffer) {
    super(source);
  }
}

/** Returns the tag with which a field begins on the wire. */
export const tagOf = (field: number, wireType: WireType): number => (field << 3) | wireType;

/**
 * Reads the fields of a protobuf message. Every published event passes through this function, so it does not create
 * copies or views of the bytes. Throws when the bytes are not a message.
 * @param end the end of the message; the reader is at its beginning
 * @param take is called for each field with its tag and the end of its value; the reader is at the beginning of the
 *   value. `eachField` stops at the first defined result of `take`, and returns that result.
 */
export function eachField<Answer>(
  reader: WireReader,
  end: number,
  take: (tag: number, end: number) => Answer | undefined,
): Answer | undefined {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const next = endOfValue(reader, tag);
    if (next > end) throw new RangeError("a field extends beyond the end of its message");
    const answer = take(tag, next);
    if (answer !== undefined) return answer;
    reader.pos = next;
  }
  return undefined;
}

/**
 * Returns the end of the next value. Leaves the reader at the first byte of the value, after the length prefix if the
 * value has one.
 */
function endOfValue(reader: WireReader, tag: number): number {
  const field = tag >>> 3;
  const wireType: WireType = tag & 7;
  if (field === 0) throw new RangeError("no field has the number 0");
  if (wireType === WireType.LengthDelimited) {
    const length = reader.uint32();
    return reader.pos + length;
  }
  const start = reader.pos;
  reader.skip(wireType, field);
  const end = reader.pos;
  reader.pos = start;
  return end;
}

/** Maximum number of bytes up to which checking each byte in a loop is faster than calling `isUtf8`. */
const SHORT_BYTES = 64;

/** Returns whether the bytes between the reader's position and `end` are UTF-8. */
export function isText({ source, pos }: WireReader, end: number): boolean {
  let at = pos;
  if (end - pos <= SHORT_BYTES) while (at < end && (source[at] ?? 0) < 0x80) at += 1;
  return at === end || isUtf8(source.subarray(at, end));
}

/** Returns the bytes between the reader's position and `end`, as a view. */
export function bytesTo({ source, pos }: WireReader, end: number): Buffer {
  return source.subarray(pos, end);
}

/** Returns the text between the reader's position and `end`. Bytes that are not UTF-8 become U+FFFD. */
export function textTo({ source, pos }: WireReader, end: number): string {
  return source.toString("utf8", pos, end);
}
