import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { createSecretBox, fingerprintOf } from "../../core/store/secret-box";
import { ANY_CHARACTER } from "../harness/for-all";

const key = (name: string): Buffer => createHash("sha256").update(name).digest();
const box = createSecretBox([key("a")]);

test("opening sealed text returns the original text, and each sealing gives a different result", () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER }), fc.string(), (text, context) => {
      const sealed = box.seal(text, context);
      expect(box.open(sealed, context)).toBe(text);
      expect(box.seal(text, context)).not.toBe(sealed);
    }),
  );
});

test("sealed text does not open if any byte is changed, or if the text is truncated at any length", () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.integer({ min: 1, max: 255 }), (text, where, flip) => {
      const [name = "", body = ""] = box.seal(text, "w").split(".");
      const bytes = Buffer.from(body, "base64url");
      const at = where % bytes.length;
      const opens = (sealed: Buffer) => () => box.open(`${name}.${sealed.toString("base64url")}`, "w");
      expect(opens(bytes.subarray(0, at))()).toBeUndefined();
      bytes.writeUInt8(bytes.readUInt8(at) ^ flip, at);
      expect(opens(bytes)()).toBeUndefined();
    }),
  );
});

test("sealed text can be opened only with the context with which it was sealed", () => {
  const sealed = box.seal("a secret", "workspace 1");
  expect(box.open(sealed, "workspace 2")).toBeUndefined();
  expect(box.open(sealed, "")).toBeUndefined();
});

test("a different key cannot open sealed text, and sealed text contains the fingerprint of the key that sealed it", () => {
  const sealed = box.seal("a secret", "w");
  expect(createSecretBox([key("b")]).open(sealed, "w")).toBeUndefined();
  expect(fingerprintOf(sealed)).toBe(box.newest);
  expect(fingerprintOf(sealed)).not.toBe(createSecretBox([key("b")]).newest);
});

test("with a list of keys, the first key seals text, and every key can open text", () => {
  const rotated = createSecretBox([key("b"), key("a")]);
  expect(rotated.open(box.seal("older", "w"), "w")).toBe("older");
  const newer = rotated.seal("newer", "w");
  expect(createSecretBox([key("b")]).open(newer, "w")).toBe("newer");
  expect(box.open(newer, "w")).toBeUndefined();
});

test.each(["", ".", "nonsense", "00000000.AAAA"])("%j does not open", (sealed) => {
  expect(box.open(sealed, "w")).toBeUndefined();
});
