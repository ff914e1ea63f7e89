import * as fc from "fast-check";
import parseAddresses from "nodemailer/lib/addressparser";
import { isEmail } from "../../core/domain/workspace-profile";
import { forAll } from "../harness/for-all";

test.each(["ann@customer.test", "o'neil+x@a.b", "ä@ö.test", "a@b", "a@[192.0.2.1]", `a@${"b".repeat(252)}`])(
  "%j is one email address",
  (text) => {
    expect(isEmail(text)).toBe(true);
  },
);

test.each([
  "",
  "ann",
  "@b",
  "a@",
  "a@b, c@d",
  "a@b;c@d",
  "a@b;",
  "group:a@b;",
  "mailto:a@b",
  "Ann <a@b>",
  "<a@b>",
  "a@b (Ann)",
  "a(c)@b",
  "a%c@b",
  "a!b@c",
  "@a,@b:c@d",
  "a@b@c",
  "a @b",
  "a@b\nBcc: c@d",
  "a\u202e@b",
  `a@${"b".repeat(253)}`,
])("%j is not one email address", (text) => {
  expect(isEmail(text)).toBe(false);
});

test("the library that sends emails reads each accepted text as exactly this address", () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab@.:;,<>()"\\[]%! =?_-ä'), maxLength: 12 });
  forAll(fc.tuple(text, text), ([local, domain]) => {
    const address = `${local}@${domain}`;
    if (!isEmail(address)) return;
    expect(parseAddresses(address)).toEqual([{ address, name: "" }]);
    expect(parseAddresses(`x@y.test, ${address}`)).toContainEqual({ address, name: "" });
  });
});
