import { createFileRegistry, fromBinary, ScalarType, type DescField } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { FILE_DESCRIPTOR_SET } from "../../proto/gen/descriptors";
import { findStructProblem } from "./struct-problem";
import { eachField, isText, tagOf, WireReader } from "./wire-fields";

/** A fault in the bytes of a protobuf message. */
export interface WireFault {
  /**
   * Path of the faulty field, with the field names of the protos and with list indexes; empty if the whole message is
   * faulty.
   */
  readonly field: string;
  /** A clause without its subject, such as "is not UTF-8". */
  readonly problem: string;
}

/** The fault that is reported when the bytes are not a protobuf message. */
export const UNREADABLE: WireFault = {
  field: "",
  problem: "cannot be decoded: its bytes are not a protobuf message",
};
const NOT_UTF8: WireFault = { field: "", problem: "is not UTF-8" };

/** Finds the first fault of the message between the reader's position and `end`. */
type FindFault = (reader: WireReader, end: number) => WireFault | undefined;

/** The descriptors of all protos of core. */
export const PROTOS = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(FILE_DESCRIPTOR_SET, "base64")),
);

/**
 * Checks for protobuf's well-known types, keyed by the name of the type. Core rejects some values of these types.
 * Without the checks, such a value would cause an exception, or core would silently change the value.
 */
const OF_WELL_KNOWN: Readonly<Record<string, (reader: WireReader, end: number) => string | undefined>> = {
  "google.protobuf.Struct": findStructProblem,
  "google.protobuf.Duration": findDurationProblem,
};

/**
 * Creates the check for the message type with the full name `typeName`. The check finds the first field whose value
 * protobuf does not allow or JSON cannot express. If a message passes the check, the generated code decodes all values
 * unchanged.
 *
 * Throws when the protos do not define the type. The type must not be recursive, except for the values of a `Struct`.
 */
export function createWireCheck(typeName: string): FindFault {
  const type = PROTOS.getMessage(typeName);
  if (type === undefined) throw new Error(`no proto has the message ${typeName}`);
  const fields = new Map<number, { readonly field: DescField; readonly find: FindFault }>();
  for (const field of type.fields) {
    const find = createFieldCheck(field);
    if (find !== undefined) fields.set(tagOf(field.number, WireType.LengthDelimited), { field, find });
  }
  return orUnreadable((reader, end) => {
    const start = reader.pos;
    return eachField(reader, end, (tag, next) => {
      const known = fields.get(tag);
      const fault = known?.find(reader, next);
      if (known === undefined || fault === undefined) return undefined;
      reader.pos = start;
      const name = nameOf(known.field, countBefore(reader, tag, next));
      return { field: fault.field === "" ? name : `${name}.${fault.field}`, problem: fault.problem };
    });
  });
}

function nameOf({ name, fieldKind }: DescField, index: number): string {
  return fieldKind === "list" ? `${name}[${index}]` : name;
}

/** Counts the fields with this tag from the reader's position to the field that ends at `end`, without that field. */
function countBefore(reader: WireReader, tag: number, end: number): number {
  let count = -1;
  eachField(reader, end, (each) => void (count += each === tag ? 1 : 0));
  return count;
}

/** Returns the check for a field; undefined if every value of the field is valid, e.g. if the field is a number. */
function createFieldCheck({ message, scalar }: DescField): FindFault | undefined {
  if (scalar === ScalarType.STRING) return (reader, end) => (isText(reader, end) ? undefined : NOT_UTF8);
  if (message === undefined) return undefined;
  const findProblem = OF_WELL_KNOWN[message.typeName];
  if (findProblem === undefined) return createWireCheck(message.typeName);
  return orUnreadable((reader, end) => {
    const problem = findProblem(reader, end);
    return problem === undefined ? undefined : { field: "", problem };
  });
}

/** Returns a check that calls `find`, and returns `UNREADABLE` when `find` throws. */
function orUnreadable(find: FindFault): FindFault {
  return (reader, end) => {
    try {
      return find(reader, end);
    } catch {
      return UNREADABLE;
    }
  };
}

/** The bounds that duration.proto sets. */
const DURATION_SECONDS_MAX = 315_576_000_000n;
const DURATION_NANOS_MAX = 999_999_999n;
const SECONDS = tagOf(1, WireType.Varint);
const NANOS = tagOf(2, WireType.Varint);

function findDurationProblem(reader: WireReader, end: number): string | undefined {
  let seconds = 0n;
  let nanos = 0n;
  eachField(reader, end, (tag) => {
    if (tag === SECONDS) seconds = BigInt(reader.int64());
    if (tag === NANOS) nanos = BigInt(reader.int64());
  });
  const isDuration =
    within(seconds, DURATION_SECONDS_MAX) && within(nanos, DURATION_NANOS_MAX) && seconds * nanos >= 0n;
  return isDuration
    ? undefined
    : "is not a valid duration: seconds must be within ±315,576,000,000, and nanos within ±999,999,999, with the same sign";
}

const within = (number: bigint, max: bigint): boolean => number >= -max && number <= max;
