import { WireType } from "@bufbuild/protobuf/wire";
import { DATA_DEPTH_MAX } from "../domain/bounds";
import { eachField, isText, tagOf, type WireReader } from "./wire-fields";

const NOT_UTF8 = "contains text that is not UTF-8";
const NO_KIND = "contains a value that is not set: use null_value for null";
const PROTO_KEY = Buffer.from("__proto__");

/** @param depth the number of objects and lists around the reader's position */
type FindProblem = (reader: WireReader, end: number, depth: number) => string | undefined;

/**
 * Finds the first member of a `google.protobuf.Struct` that JSON cannot express, that is nested too deeply, or whose
 * key is `__proto__` (prototype pollution). Returns a description of the problem, or undefined. This function checks
 * the bytes, because decoding can drop or replace such members.
 *
 * Throws when the bytes are not a valid message.
 */
export function findStructProblem(reader: WireReader, end: number): string | undefined {
  return findInEach(reader, end, findEntryProblem, 1);
}

/**
 * Returns the first problem in the members of a `Struct` or `ListValue`. In both types, the members have field
 * number 1.
 */
function findInEach(
  reader: WireReader,
  end: number,
  findProblem: FindProblem,
  depth: number,
): string | undefined {
  if (depth > DATA_DEPTH_MAX)
    return `must not have more than ${DATA_DEPTH_MAX} objects and lists inside each other`;
  return eachField(reader, end, (tag, next) =>
    tag === MEMBER ? findProblem(reader, next, depth) : undefined,
  );
}

const MEMBER = tagOf(1, WireType.LengthDelimited);
const ENTRY = {
  key: tagOf(1, WireType.LengthDelimited),
  value: tagOf(2, WireType.LengthDelimited),
} as const;

function findEntryProblem(reader: WireReader, end: number, depth: number): string | undefined {
  let hasValue = false;
  const problem = eachField(reader, end, (tag, next) => {
    if (tag === ENTRY.key) return findKeyProblem(reader, next);
    if (tag !== ENTRY.value) return undefined;
    hasValue = true;
    return findValueProblem(reader, next, depth);
  });
  return problem ?? (hasValue ? undefined : NO_KIND);
}

function findKeyProblem(reader: WireReader, end: number): string | undefined {
  if (!isText(reader, end)) return NOT_UTF8;
  const isProto =
    end - reader.pos === PROTO_KEY.length && PROTO_KEY.equals(reader.source.subarray(reader.pos, end));
  return isProto ? `must not have the key ${PROTO_KEY.toString()}` : undefined;
}

const VALUE = {
  null: tagOf(1, WireType.Varint),
  number: tagOf(2, WireType.Bit64),
  text: tagOf(3, WireType.LengthDelimited),
  boolean: tagOf(4, WireType.Varint),
  struct: tagOf(5, WireType.LengthDelimited),
  list: tagOf(6, WireType.LengthDelimited),
} as const;

function findValueProblem(reader: WireReader, end: number, depth: number): string | undefined {
  let isSet = false;
  const problem = eachField(reader, end, (tag, next) => {
    isSet = true;
    switch (tag) {
      case VALUE.null:
      case VALUE.boolean:
        return undefined;
      case VALUE.number:
        return Number.isFinite(reader.double())
          ? undefined
          : "contains NaN or Infinity, which JSON cannot express";
      case VALUE.text:
        return isText(reader, next) ? undefined : NOT_UTF8;
      case VALUE.struct:
        return findInEach(reader, next, findEntryProblem, depth + 1);
      case VALUE.list:
        return findInEach(reader, next, findValueProblem, depth + 1);
      default:
        return NO_KIND;
    }
  });
  return problem ?? (isSet ? undefined : NO_KIND);
}
