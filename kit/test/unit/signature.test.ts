import * as fc from "fast-check";
import { forAll } from "../../../test/harness/for-all";
import { checkSecrets, sign, verify, type SecretList } from "../../signature";
import { secretLookup, secretsOfOne } from "../../secrets";

const NOW_S = 1_700_000_000;
const NOW_MS = NOW_S * 1000;
// Valid, wrong and malformed signatures are tested in test/unit/signature.test.ts (in the root), for both the service
// and the kit.

test.each([
  ["is missing", undefined, "missing"],
  ["is null (fetch returns null for a missing header)", null, "missing"],
  ["is wrong and stale", sign("{}", "other", 0), "wrong"],
] as const)("a signature header that %s is rejected", (_what, header, fault) => {
  expect(verify(header, "{}", "secret", NOW_MS)).toBe(fault);
});

// time: controlled
// contract: signature-bridge-tolerance
test.each([
  ["exactly 5 minutes old", NOW_MS, NOW_S - 300, undefined],
  ["5 minutes and a millisecond old", NOW_MS + 1, NOW_S - 300, "stale"],
  ["exactly 5 minutes ahead", NOW_MS, NOW_S + 300, undefined],
  ["5 minutes and a millisecond ahead", NOW_MS - 1, NOW_S + 300, "stale"],
] as const)(
  "a timestamp within 5 minutes of the clock is accepted, and any other timestamp is stale: %s",
  (_what, nowMs, t, fault) => {
    expect(verify(sign("{}", "secret", t * 1000), "{}", "secret", nowMs)).toBe(fault);
  },
);

test.each([
  ["no secret", []],
  ["an empty secret", ""],
  ["an empty secret and a valid secret", ["secret", ""]],
] as const)("a list with %s is rejected when signing and verifying", (_what, list: SecretList) => {
  const header = sign("{}", "secret", NOW_MS);
  expect(() => checkSecrets(list)).toThrow(RangeError);
  expect(() => sign("{}", list, NOW_MS)).toThrow(RangeError);
  expect(() => verify(header, "{}", list, NOW_MS)).toThrow(RangeError);
  expect(() => secretLookup(list)).toThrow(RangeError);
});

test.each([
  ["s3cret\n", "ends with a line break (U+000A), which usually comes from a file"],
  ["s3cret\r\n", "ends with a line break"],
  ["\uFEFFs3cret", "begins with a byte order mark (U+FEFF), which usually comes from a file"],
  [" s3cret", "begins with white space (U+0020), which usually comes from a copied line"],
  ["s3cret\u00a0", "ends with white space (U+00A0)"],
  ['"s3cret"', "begins with a quotation mark (U+0022), which usually comes from a settings file"],
  ["s3cret\u201d", "ends with a quotation mark (U+201D)"],
  ["\u200bs3cret", "begins with an invisible character (U+200B)"],
  ["s3cret\ns3cret", "contains a line break: give the two secrets of a rotation as a list"],
])(
  "the secret %j is rejected wherever it is given, and the error names the fault, not the secret",
  (secret, words) => {
    const error = expect.objectContaining({
      name: "RangeError",
      message: expect.stringMatching(/^a signing secret (?!.*s3cret)/) as string,
    });
    for (const list of [secret, ["right", secret]]) {
      expect(() => checkSecrets(list)).toThrow(words);
      expect(() => checkSecrets(list)).toThrow(error as Error);
      expect(() => sign("{}", list)).toThrow(RangeError);
      expect(() => verify("t=1,v1=00", "{}", list)).toThrow(RangeError);
      expect(() => secretLookup(list)).toThrow(RangeError);
    }
  },
);

test("every secret that the service can make is accepted", () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  forAll(bytes, (secret) => {
    const text = Buffer.from(secret).toString("base64url");
    expect(checkSecrets(text)).toEqual([text]);
  });
});

test("the secrets of a workspace can be given directly or looked up, and an unknown workspace is an error", async () => {
  expect(await secretsOfOne("secret", "w1")()).toBe("secret");
  const lookup = async (id: string) => (id === "w1" ? ["new", "old"] : undefined);
  expect(await secretsOfOne(lookup, "w1")()).toEqual(["new", "old"]);
  await expect(secretsOfOne(lookup, "w2")()).rejects.toThrow("there are no secrets for workspace w2");
});
