import { checkSecrets, sign, verify, type SecretList } from "../../signature";
import { secretLookup, secretsOfOne } from "../../secrets";

const NOW_S = 1_700_000_000;
const NOW_MS = NOW_S * 1000;
// The service's tests (test/unit/signature.test.ts in the root) also test the kit: with valid, wrong and malformed
// signatures.

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

test("the secrets of a workspace can be given directly or looked up, and an unknown workspace is an error", async () => {
  expect(await secretsOfOne("secret", "w1")()).toBe("secret");
  const lookup = async (id: string) => (id === "w1" ? ["new", "old"] : undefined);
  expect(await secretsOfOne(lookup, "w1")()).toEqual(["new", "old"]);
  await expect(secretsOfOne(lookup, "w2")()).rejects.toThrow("there are no secrets for workspace w2");
});
