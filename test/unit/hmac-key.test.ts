import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { HmacKey } from "../../core/domain/hmac-key";
import { ANY_CHARACTER, forMany } from "../harness/for-all";

// A key of more than 64 bytes is hashed first.
const key = fc.oneof(
  fc.uint8Array({ maxLength: 130 }),
  fc.constantFrom(63, 64, 65).map((size) => Buffer.alloc(size, 7)),
);
const start = fc.oneof(
  fc.nat().map(String),
  fc.string({ unit: ANY_CHARACTER, maxLength: 20 }),
  fc.constant("9".repeat(5_000)),
);
const rest = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.string({ unit: ANY_CHARACTER, maxLength: 300 }),
  // The tested class hashes longer texts in a different way.
  fc.integer({ min: 1_300, max: 4_200 }).map((size) => "ष".repeat(size)),
  fc.integer({ min: 4_000, max: 4_200 }).map((size) => Buffer.alloc(size, "x")),
);

test("the result is the HMAC-SHA256 of the text, in both encodings", () => {
  forMany(1_000, key, start, rest, (bytes, before, after) => {
    const own = new HmacKey(bytes);
    const hmac = createHmac("sha256", bytes).update(before).update(after).digest();
    expect(own.digest(before, after, "hex")).toBe(hmac.toString("hex"));
    expect(own.digest(before, after, "binary")).toBe(hmac.toString("latin1"));
  });
});
