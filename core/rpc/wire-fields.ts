import { isUtf8 } from "node:buffer";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A reader whose bytes can be looked at where they are. */
export class WireReader extends BinaryReader {
  constructor(readonly source: Buffer) {
    super(source);
  }
}

/** What a field begins with on the wire. */
export const tagOf = (field: number, wireType: WireType): number => (field << 3) | wireType;

/**
 * Reads the fields of a protobuf message, without copies or views: every published event is read by it.
 *
 * Throws where the bytes are no message.
 * @param end where the message ends; the reader stands at its beginning
 * @param take is called with the tag of a field and where its value ends, the reader standing at the value's
 *   beginning. What it answers first ends the reading and is the answer of all.
 */
export function eachField<Answer>(
  reader: WireReader,
  end: number,
  take: (tag: number, end: number) => Answer | undefined,
): Answer | undefined {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const next = endOfValue(reader, tag);
    if (next > end) throw new RangeError("a field goes on behind the end of its message");
    const answer = take(tag, next);
    if (answer !== undefined) return answer;
    reader.pos = next;
  }
  return undefined;
}

/** Where a value ends that the reader is before. It is left at its first byte, behind a length. */
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

/** To look at each byte of so short a text takes less than a call into Node. */
const SHORT_BYTES = 64;

/** Whether the bytes from where the reader is to an end are UTF-8. */
export function isText({ source, pos }: WireReader, end: number): boolean {
  let at = pos;
  if (end - pos <= SHORT_BYTES) while (at < end && (source[at] ?? 0) < 0x80) at += 1;
  return at === end || isUtf8(source.subarray(at, end));
}

/** The bytes from where the reader is to an end, where they are. */
export function bytesTo({ source, pos }: WireReader, end: number): Buffer {
  return source.subarray(pos, end);
}

/** The text from where the reader is to an end; a byte that is not UTF-8 becomes U+FFFD. */
export function textTo({ source, pos }: WireReader, end: number): string {
  return source.toString("utf8", pos, end);
}
