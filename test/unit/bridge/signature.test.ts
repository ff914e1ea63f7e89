import { createSecretKey } from "node:crypto";
import * as fc from "fast-check";
import { checkSecrets, sign, verify, type SecretList } from "../../../bridge/signature";
import { secretLookup, secretsOfOne } from "../../../bridge/secrets";
import { parseSignature, signatureMatches } from "../../../core/domain/signature";
import { SIGNATURE_VECTORS } from "../../e2e/vectors";

const NOW_S = 1_700_000_000;
const NOW_MS = NOW_S * 1000;
const MAC = "ab".repeat(32);
const keyOf = (secret: string) => createSecretKey(Buffer.from(secret));

// contract: signature-hmac
test.each(SIGNATURE_VECTORS)(
  "only the digest that openssl makes of $what holds",
  ({ secret, t, raw, mac }) => {
    const judge = (change: { secret?: string; t?: string; mac?: string; raw?: Buffer } = {}) => {
      const header = `t=${change.t ?? t},v1=${change.mac ?? mac}`;
      return verify(header, change.raw ?? raw, change.secret ?? secret, Number(t) * 1000);
    };
    expect([judge(), judge({ mac: mac.toUpperCase() })]).toEqual([undefined, undefined]);
    const longer = Buffer.concat([Buffer.from(raw), Buffer.from(" ")]);
    for (const change of [{ secret: `${secret}x` }, { t: `0${t}` }, { raw: longer }]) {
      expect(judge(change)).toBe("wrong");
    }
  },
);

test.each(SIGNATURE_VECTORS.filter(({ t }) => t === String(NOW_S)))(
  "a bridge signs $what as openssl does, in whole seconds",
  ({ secret, raw, mac }) => {
    expect(sign(raw, secret, NOW_MS + 999)).toBe(`t=${NOW_S},v1=${mac}`);
  },
);

test("during a rotation a bridge signs with each secret, in their order", () => {
  const [one, two] = SIGNATURE_VECTORS;
  expect(sign(String(one?.raw), ["secret-two", "secret-one"], NOW_MS)).toBe(
    `t=${NOW_S},v1=${two?.mac},v1=${one?.mac}`,
  );
});

test.each([
  ["is missing", undefined, "missing"],
  ["is missing from a fetch", null, "missing"],
  ["is empty", "", "malformed"],
  ["has no entry", `t=${NOW_S}`, "malformed"],
  ["has the entry first", `v1=${MAC},t=${NOW_S}`, "malformed"],
  ["has a blank after the comma", `t=${NOW_S}, v1=${MAC}`, "malformed"],
  ["has a line break at its end", `t=${NOW_S},v1=${MAC}\n`, "malformed"],
  ["came twice", `t=${NOW_S},v1=${MAC}, t=${NOW_S},v1=${MAC}`, "malformed"],
  ["has an entry of another length", `t=${NOW_S},v1=${MAC}00`, "wrong"],
] as const)("a header that %s does not hold", (_what, header, fault) => {
  expect(verify(header, "{}", "secret", NOW_MS)).toBe(fault);
});

// time: controlled
// contract: signature-bridge-tolerance
test.each([
  ["exactly 5 minutes old", NOW_MS, NOW_S - 300, undefined],
  ["a millisecond older than 5 minutes", NOW_MS + 1, NOW_S - 300, "stale"],
  ["exactly 5 minutes ahead", NOW_MS, NOW_S + 300, undefined],
  ["a millisecond further ahead than 5 minutes", NOW_MS - 1, NOW_S + 300, "stale"],
] as const)("a timestamp %s is within the tolerance or not", (_what, nowMs, t, fault) => {
  expect(verify(sign("{}", "secret", t * 1000), "{}", "secret", nowMs)).toBe(fault);
});

test("a signature that is wrong and old is reported as wrong", () => {
  expect(verify(sign("{}", "other", 0), "{}", "secret", NOW_MS)).toBe("wrong");
});

// contract: signature-format
test("headers are read as the service reads them", () => {
  const right = sign("{}", "secret", NOW_MS).slice(`t=${NOW_S},`.length);
  const marks = [",", "v1=", ",v2=00", " ", "\n", "٣", "abc", ""];
  const piece = fc.constantFrom("t=", String(NOW_S), `,v1=${MAC}`, `,${right}`, ...marks);
  const header = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
    fc.array(piece, { maxLength: 4 }).map((pieces) => `t=${NOW_S}${pieces.join("")}`),
  );
  const reached = new Set<string>();
  fc.assert(
    fc.property(header, (text) => {
      const parsed = parseSignature(text);
      const isRight = parsed !== undefined && signatureMatches(parsed, "{}", [keyOf("secret")]);
      const service = isRight ? undefined : parsed === undefined ? "malformed" : "wrong";
      reached.add(String(service));
      expect(verify(text, "{}", "secret", NOW_MS)).toBe(service);
    }),
    { numRuns: 2000 },
  );
  expect([...reached].toSorted()).toEqual(["malformed", "undefined", "wrong"]);
});

const secret = fc.string({ minLength: 1 });
const secrets = fc.uniqueArray(secret, { minLength: 1, maxLength: 3 });

// contract: signature-any
test("a signature holds if and only if the two sides share a secret", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), secrets, secrets, (raw, ours, theirs) => {
      const isShared = ours.some((each) => theirs.includes(each));
      const fault = verify(sign(raw, theirs, NOW_MS), raw, ours, NOW_MS);
      expect(fault).toBe(isShared ? undefined : "wrong");
      expect(verify(sign(raw, [...theirs, "s"], NOW_MS), raw, [...ours, "s"], NOW_MS)).toBeUndefined();
    }),
  );
});

test("one bit changed anywhere in the bytes makes the signature wrong", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), (raw, at) => {
      const header = sign(raw, "secret", NOW_MS);
      expect(verify(header, raw, "secret", NOW_MS)).toBeUndefined();
      const changed = Uint8Array.from(raw);
      const index = at % raw.length;
      changed[index] = (changed[index] ?? 0) ^ (1 << (at % 8));
      expect(verify(header, changed, "secret", NOW_MS)).toBe("wrong");
    }),
  );
});

test.each([
  ["no secret", []],
  ["an empty secret", ""],
  ["an empty secret beside a good one", ["secret", ""]],
] as const)("%s signs nothing and accepts nothing", (_what, list: SecretList) => {
  const header = sign("{}", "secret", NOW_MS);
  expect(() => checkSecrets(list)).toThrow(RangeError);
  expect(() => sign("{}", list, NOW_MS)).toThrow(RangeError);
  expect(() => verify(header, "{}", list, NOW_MS)).toThrow(RangeError);
  expect(() => secretLookup(list)).toThrow(RangeError);
});

test("the secrets of one workspace must be known, whether they are given or looked up", async () => {
  expect(await secretsOfOne("secret", "w1")()).toBe("secret");
  const lookup = async (id: string) => (id === "w1" ? ["new", "old"] : undefined);
  expect(await secretsOfOne(lookup, "w1")()).toEqual(["new", "old"]);
  await expect(secretsOfOne(lookup, "w2")()).rejects.toThrow("there are no secrets for workspace w2");
});
