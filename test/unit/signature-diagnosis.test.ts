import { createHash, createHmac } from "node:crypto";
import * as fc from "fast-check";
import type { SignatureCause } from "../../contract/requests";
import { reserializations } from "../../core/domain/reserializations";
import { parseSignature } from "../../core/domain/signature";
import { diagnoseSignature, type FaultySignature } from "../../core/domain/signature-diagnosis";
import { forAll } from "../harness/for-all";

const SECRET = "0b9hXw3mUy6Pz1K7s4nQe8RtVcLdJfGaZxWvYuTqSrM";
const OTHER = "zzzzzzzzmUy6Pz1K7s4nQe8RtVcLdJfGaZxWvYuTqSrM";
const ID = "7c02a532-2d31-4461-a25f-47408245c392";
const T = "1767225600";
const BODY = '{"type":"command","channel":{"id":"général"},"user":{"id":"u/1"},"text":"<go>"}';
const QUERY = "after=12&limit=5";

type Key = string | Uint8Array;
const hex = (key: Key, text: Key): string => createHmac("sha256", key).update(text).digest("hex");
const header = (digest: string, t = T): string => `t=${t},v1=${digest}`;

function causeOf(faulty: Partial<FaultySignature>, expired: readonly string[] = []): SignatureCause {
  const request = { raw: BODY, method: "POST", workspaceId: ID, header: undefined, ...faulty } as const;
  return diagnoseSignature(request, { active: [SECRET], expired }).cause;
}

const signed = (text: Key, key: Key = SECRET) => ({ header: header(hex(key, text)) });
const polled = (text: string, raw = QUERY) => ({ ...signed(text), raw, method: "GET" as const });
const python = BODY.replaceAll('":', '": ').replaceAll(',"', ', "');

test.each<[SignatureCause, Partial<FaultySignature>]>([
  ["missing", {}],
  ["missing", { header: "" }],
  ["repeated-header", { header: `${header(hex(SECRET, "a"))}, ${header(hex(SECRET, "a"))}` }],
  ["spaces", { header: `t=${T}, v1=${hex(SECRET, `${T}.${BODY}`)}` }],
  ["name-in-value", { header: `Service-Signature: ${header(hex(SECRET, "a"))}` }],
  ["without-timestamp", { header: `v1=${hex(SECRET, BODY)}` }],
  ["without-timestamp", { header: `sha256=${hex(SECRET, BODY)}` }],
  ["timestamp-form", { header: `t=2026-01-01T00:00:00Z,v1=${hex(SECRET, BODY)}` }],
  ["timestamp-form", { header: `t=1767225600.25,v1=${hex(SECRET, BODY)}` }],
  ["without-digest", { header: `t=${T}` }],
  ["without-digest", { header: `t=${T},v0=${hex(SECRET, BODY)}` }],
  ["order", { header: `v1=${hex(SECRET, BODY)},t=${T}` }],
  ["base64-digest", { header: header(createHmac("sha256", SECRET).update(BODY).digest("base64")) }],
  ["base64-digest", { header: header(createHmac("sha256", SECRET).update("x").digest("base64url")) }],
  ["digest-form", { header: header("not hex").replace(" ", "-") }],
  ["digest-length", { header: header(createHmac("sha1", SECRET).update(`${T}.${BODY}`).digest("hex")) }],
  ["secret-base64", signed(`${T}.${BODY}`, Buffer.from(SECRET, "base64url"))],
  ["secret-newline", signed(`${T}.${BODY}`, `${SECRET}\n`)],
  ["secret-quotes", signed(`${T}.${BODY}`, `"${SECRET}"`)],
  ["secret-hex", signed(`${T}.${BODY}`, Buffer.from(SECRET, "hex"))],
  ["secret-empty", signed(`${T}.${BODY}`, "")],
  ["secret-empty", signed(`${T}.${BODY}`, "undefined")],
  ["body-only", signed(BODY)],
  ["separator", signed(`${T}${BODY}`)],
  ["milliseconds", signed(`${T}000.${BODY}`)],
  ["milliseconds", { header: header(hex(SECRET, `${T}.${BODY}`), `${T}123`) }],
  ["newline-added", signed(`${T}.${BODY}\n`)],
  ["newline-removed", { ...signed(`${T}.${BODY}`), raw: `${BODY}\n` }],
  ["re-serialized", signed(`${T}.${python}`)],
  ["empty-text", signed(`${T}.`)],
  ["question-mark", polled(`${T}.?${QUERY}`)],
  ["url", polled(`${T}./hooks/${ID}/events?${QUERY}`)],
  ["url", polled(`${T}./hooks/${ID}/events`, "")],
  ["query-decoded", polled(`${T}.after=a b`, "after=a%20b")],
  ["empty-text", polled(`${T}.{}`)],
  ["swapped", { header: header(hex(`${T}.${BODY}`, SECRET)) }],
  ["not-hmac", { header: header(createHash("sha256").update(`${T}.${BODY}`).digest("hex")) }],
  ["unknown", signed(`${T}.${BODY}`, OTHER)],
])("the diagnosis of a bridge's mistake is %s", (cause, faulty) => {
  expect(causeOf(faulty)).toBe(cause);
});

test("a digest of an expired secret is recognized while the secret is stored", () => {
  const faulty = signed(`${T}.${BODY}`, OTHER);
  expect([causeOf(faulty, [OTHER]), causeOf(faulty)]).toEqual(["expired-secret", "unknown"]);
});

test("only a digest that was computed with a secret of the workspace counts as sent by somebody who knows the secret", () => {
  const isBySecret = (faulty: Partial<FaultySignature>): boolean =>
    diagnoseSignature(
      { raw: BODY, method: "POST", workspaceId: ID, header: undefined, ...faulty },
      { active: [SECRET], expired: [] },
    ).isBySecret;
  const withoutSecret = [
    {},
    { header: "t=1" },
    signed(`${T}.${BODY}`, ""),
    signed(`${T}.${BODY}`, OTHER),
    { header: header(createHash("sha256").update(`${T}.${BODY}`).digest("hex")) },
  ];
  expect(withoutSecret.map(isBySecret)).toEqual(withoutSecret.map(() => false));
  expect([signed(BODY), signed(`${T}.`)].map(isBySecret)).toEqual([true, true]);
});

const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
const secret = fc.string({ minLength: 20, maxLength: 60 });
const seconds = fc.integer({ min: 1_000_000_000, max: 9_999_999_999 });

test("any JSON body that was serialized again in the style of a common library is recognized", () => {
  forAll(json, secret, seconds, fc.nat(), (value, key, t, pick) => {
    const raw = JSON.stringify(value, undefined, 1);
    const others = reserializations(raw);
    fc.pre(others.length > 0);
    const other = others[pick % others.length] ?? "";
    expect(JSON.parse(other)).toEqual(JSON.parse(raw));
    const faulty = {
      raw,
      method: "POST" as const,
      workspaceId: ID,
      header: header(hex(key, `${t}.${other}`), String(t)),
    };
    const known = ["re-serialized", "newline-removed"];
    expect(known).toContain(diagnoseSignature(faulty, { active: [key], expired: [] }).cause);
  });
});

test("the diagnosis does not fail, whatever the header and the body; a header without a valid form has no digest to examine", () => {
  const raw = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string());
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.stringMatching(/^t=[0-9]{0,12},v1=[0-9a-fA-F]{0,66}(,v1=[0-9a-f]*)?$/),
  );
  const method = fc.constantFrom("POST" as const, "GET" as const);
  forAll(raw, text, method, (bytes, value, kind) => {
    const faulty = { raw: bytes, method: kind, workspaceId: ID, header: value };
    const { cause } = diagnoseSignature(faulty, { active: [SECRET], expired: [] });
    const digests = parseSignature(value)?.digests.length ?? 0;
    expect(cause === "unknown").toBe(digests > 0);
  });
});

test("the diagnosis of the largest body tries the most likely mistakes first", () => {
  const raw = JSON.stringify({ text: "x".repeat(65_000) });
  expect(causeOf({ ...signed(`${T}.${raw}`, ""), raw })).toBe("secret-empty");
  expect(causeOf({ ...signed(`${T}.${raw}`, Buffer.from(SECRET, "base64")), raw })).toBe("secret-base64");
  expect(causeOf({ ...signed(raw), raw })).toBe("body-only");
});

test("a key that anybody can guess does not prove that the sender knows the secret", () => {
  const key = Buffer.from(SECRET, "hex");
  expect(key).toHaveLength(1);
  const faulty = { raw: BODY, method: "POST", workspaceId: ID, ...signed(`${T}.${BODY}`, key) } as const;
  expect(diagnoseSignature(faulty, { active: [SECRET], expired: [] })).toMatchObject({
    cause: "secret-hex",
    isBySecret: false,
  });
});

test("the diagnosis does not serialize a body with very many values again, because that would take too long", () => {
  const nested = `${"[".repeat(20)}${"]".repeat(20)}`;
  expect(reserializations(`[${Array.from({ length: 499 }, () => "{}").join(", ")}]`)).not.toEqual([]);
  expect(reserializations(`[${Array.from({ length: 500 }, () => "{}").join(", ")}]`)).toEqual([]);
  expect(reserializations(`[${Array.from({ length: 300 }, () => nested).join(", ")}]`)).toEqual([]);
});
