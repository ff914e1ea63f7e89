import * as fc from "fast-check";
import { createSecret, seal, sealOf, unseal, type Seal } from "../../edge/dashboard/seal";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const text = () => fc.string({ unit: ANY_CHARACTER, maxLength: 600 });
const kind = () => fc.constantFrom("session" as const, "link" as const);
function newSeal(of: "session" | "link", secret = createSecret()): Seal {
  const made = sealOf(of, secret);
  if (made === undefined) throw new Error("the secret has the wrong form");
  return made;
}

test("a sealed text can be read only with the same secret and for the same kind of entry", () => {
  forAll(kind(), text(), (of, plain) => {
    const secret = createSecret();
    const sealed = seal(newSeal(of, secret), plain);
    expect(unseal(newSeal(of, secret), sealed)).toBe(plain);
    expect(unseal(newSeal(of), sealed)).toBeUndefined();
    expect(unseal(newSeal(of === "link" ? "session" : "link", secret), sealed)).toBeUndefined();
  });
});

test("a sealed text that was changed or cut cannot be read", () => {
  forAll(text(), fc.nat(), fc.integer({ min: 1, max: 255 }), (plain, at, flip) => {
    const made = newSeal("session");
    const sealed = seal(made, plain);
    const place = at % sealed.length;
    expect(unseal(made, sealed.subarray(0, place))).toBeUndefined();
    sealed[place] = (sealed[place] ?? 0) ^ flip;
    expect(unseal(made, sealed)).toBeUndefined();
  });
});

test("neither the id nor the sealed bytes reveal the secret or the text", () => {
  const secret = createSecret();
  const made = newSeal("session", secret);
  const sealed = seal(made, "the operator's token");
  expect(sealed.toString("latin1")).not.toContain("operator");
  expect([made.id, made.key.toString("base64url")]).not.toContain(secret);
  expect(made.id).not.toBe(newSeal("link", secret).id);
  // Two encryptions of one text differ, so an observer does not learn that two sessions have the same token.
  expect(seal(made, "the operator's token").equals(sealed)).toBe(false);
});

test.each(["", "short", `${createSecret()}x`, `${createSecret().slice(1)}é`, `${createSecret().slice(1)} `])(
  "a text that cannot be a secret has no seal: %s",
  (shown) => {
    expect(sealOf("session", shown)).toBeUndefined();
  },
);
