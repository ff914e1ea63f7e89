import * as fc from "fast-check";
import { LENGTH_BYTES, packArguments } from "../../core/store/functions";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

/** Unpacks a list as the function library in Redis does. */
function unpackFields(packed: Buffer): readonly Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < packed.length;) {
    const start = at + LENGTH_BYTES;
    at = start + packed.readUInt32LE(at);
    fields.push(packed.subarray(start, at));
  }
  return fields;
}

test("arguments of any lengths and characters are the same after packing and unpacking", () => {
  const text = fc.string({ unit: ANY_CHARACTER, maxLength: 200, size: "max" });
  const bytes = fc.uint8Array({ maxLength: 300, size: "max" }).map((each) => Buffer.from(each));
  forAll(fc.oneof(fc.array(text), fc.array(fc.oneof(text, bytes))), (args) => {
    const packed = packArguments(args);
    expect(unpackFields(Buffer.from(packed))).toEqual(args.map((arg) => Buffer.from(arg)));
  });
});

test("long arguments and short ones are the same after packing and unpacking, in any order", () => {
  const args = ["a", "x".repeat(128), "é", "y".repeat(70_000), Buffer.alloc(300, 200), "", "z".repeat(256)];
  for (const order of [args, args.toReversed()]) {
    expect(unpackFields(Buffer.from(packArguments(order)))).toEqual(order.map((arg) => Buffer.from(arg)));
  }
});
