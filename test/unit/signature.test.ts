import crypto from "node:crypto";
import * as fc from "fast-check";
import { secretFault } from "../../kit/secret-form";
import { sign, verify } from "../../kit/signature";
import { HmacKey } from "../../core/domain/hmac-key";
import { parseSignature, signatureHeader, signatureMatches } from "../../core/domain/signature";
import { createSigningSecret } from "../../core/domain/workspace";
import { judgeCaller } from "../../core/operations/judge-caller";
import type { WorkspaceRecord } from "../../core/ports/workspaces";
import { SIGNATURE_VECTORS } from "../e2e/vectors";
import { signatureOf } from "../harness/bridge";
import { forAll, forMany } from "../harness/for-all";
import { newWorkspace } from "../harness/new-workspace";

const keyOf = (secret: string) => new HmacKey(Buffer.from(secret));

function matches(header: string, raw: Uint8Array | string, ...secrets: readonly string[]): boolean {
  const parsed = parseSignature(header);
  return parsed !== undefined && signatureMatches(parsed, raw, secrets.map(keyOf));
}

/**
 * Returns how the service judges a signature. Fails if the bridge kit judges the signature differently at its
 * timestamp.
 */
function judged(header: string, raw: Uint8Array | string, ...secrets: readonly string[]) {
  const fault = parseSignature(header) === undefined ? "malformed" : "wrong";
  const outcome = matches(header, raw, ...secrets) ? "right" : fault;
  const atMs = Number(/^t=(\d+)/.exec(header)?.[1] ?? 0) * 1000;
  expect(verify(header, raw, secrets, atMs) ?? "right").toBe(outcome);
  return outcome;
}

/** The kit rejects a secret with a stray character at its start or end. The service never creates such a secret. */
const isUsable = (secret: string) => secretFault(secret) === undefined;
const MAC = "ab".repeat(32);

// contract: signature-hmac
test.each(SIGNATURE_VECTORS)(
  "openssl's digest of $what is valid only with the same secret, timestamp and text",
  ({ secret, t, raw, mac }) => {
    const header = `t=${t},v1=${mac}`;
    const longer = Buffer.concat([Buffer.from(raw), Buffer.from(" ")]);
    expect(judged(header, raw, secret)).toBe("right");
    expect(judged(`t=${t},v1=${mac.toUpperCase()}`, raw, secret)).toBe("right");
    expect(judged(header, raw, `${secret}x`)).toBe("wrong");
    expect(judged(`t=0${t},v1=${mac}`, raw, secret)).toBe("wrong");
    expect(judged(header, longer, secret)).toBe("wrong");
    // The tests sign requests with `signatureOf`, which creates the same header.
    expect(signatureOf(secret, raw, t)).toBe(header);
  },
);

// contract: signature-constant-time
test("digests are compared in constant time: timingSafeEqual compares every secret with every entry", () => {
  const compare = jest.spyOn(crypto, "timingSafeEqual");
  const wrong = [MAC, "cd".repeat(32)];
  const header = `t=1,v1=${wrong.join(",v1=")}`;
  const secrets = ["one", "two", "three"];
  expect(matches(header, "{}", ...secrets)).toBe(false);
  const right = secrets.map((secret) => signatureOf(secret, "{}", 1).replace("t=1,v1=", ""));
  const hex = (digest: NodeJS.ArrayBufferView): string => (digest as Buffer).toString("hex");
  expect(compare.mock.calls.map((pair) => pair.map(hex).join(" "))).toEqual(
    right.flatMap((expected) => wrong.map((sent) => `${sent} ${expected}`)),
  );
  compare.mockReturnValue(true);
  expect(matches(header, "{}", ...secrets)).toBe(true);
  compare.mockReturnValue(false);
  expect(matches(`t=1,v1=${right[0]}`, "{}", ...secrets)).toBe(false);
  compare.mockRestore();
});

// contract: signature-format
test("the service and the bridge kit write one entry per secret, in order, with lower-case digests and a timestamp in whole seconds", () => {
  const [one, two] = SIGNATURE_VECTORS;
  const secrets = ["secret-two", "secret-one"];
  const raw = Buffer.from(String(one?.raw));
  const header = `t=1700000000,v1=${two?.mac},v1=${one?.mac}`;
  expect(signatureHeader(raw, secrets.map(keyOf), 1_700_000_000_999)).toBe(header);
  expect(sign(raw, secrets, 1_700_000_000_999)).toBe(header);
});

test.each([
  ["no content", ""],
  ["no entry", "t=1700000000"],
  ["no timestamp", `v1=${MAC}`],
  ["an empty timestamp", `t=,v1=${MAC}`],
  ["an empty entry", "t=1700000000,v1="],
  ["an empty entry after a complete entry", `t=1700000000,v1=${MAC},v1=`],
  ["a timestamp with a sign", `t=-1700000000,v1=${MAC}`],
  ["a timestamp with a fraction", `t=1700000000.5,v1=${MAC}`],
  ["digits that are not ASCII", `t=١٧,v1=${MAC}`],
  ["the entry before the timestamp", `v1=${MAC},t=1700000000`],
  ["two timestamps", `t=1700000000,t=1700000000,v1=${MAC}`],
  ["a space after the comma", `t=1700000000, v1=${MAC}`],
  ["a space at the end", `t=1700000000,v1=${MAC} `],
  ["a line break at the end", `t=1700000000,v1=${MAC}\n`],
  ["a comma at the end", `t=1700000000,v1=${MAC},`],
  ["a digest that is not hex", `t=1700000000,v1=${"gh".repeat(32)}`],
  ["another version", `t=1700000000,v2=${MAC}`],
  ["names in capitals", `T=1700000000,V1=${MAC}`],
  ["a second header after a comma", `t=1700000000,v1=${MAC}, t=1700000000,v1=${MAC}`],
])("a header with %s is malformed", (_what, header) => {
  expect(judged(header, "{}", "secret")).toBe("malformed");
});

// contract: signature-any
test("a signature is accepted if one of its entries matches one of the secrets, whatever its other entries are", () => {
  const hex = fc.stringMatching(/^[0-9a-fA-F]{1,80}$/);
  forAll(
    fc.uint8Array({ maxLength: 200 }),
    fc.uniqueArray(fc.string({ minLength: 1 }).filter(isUsable), { minLength: 1, maxLength: 4 }),
    fc.nat({ max: 2 ** 31 }),
    fc.array(hex, { maxLength: 5 }),
    fc.array(hex, { maxLength: 5 }),
    fc.nat(),
    (raw, secrets, t, before, after, pick) => {
      const chosen = secrets[pick % secrets.length] ?? "";
      const right = signatureOf(chosen, Buffer.from(raw), t).split("v1=")[1] ?? "";
      const entries = [...before, right, ...after].map((entry) => `,v1=${entry}`).join("");
      expect(judged(`t=${t}${entries}`, raw, ...secrets)).toBe("right");
      const wrong = [...before, ...after].map((entry) => `,v1=${entry}`).join("");
      expect(judged(`t=${t}${wrong}`, raw, ...secrets)).not.toBe("right");
    },
  );
});

test("the bridge kit has the same result as the service for any header", () => {
  const right = sign("{}", "secret", 1_700_000_000_000).slice("t=1700000000,".length);
  const marks = [",", "v1=", ",v2=00", " ", "\n", "٣", "abc", ""];
  const piece = fc.constantFrom("t=", "1700000000", `,v1=${MAC}`, `,${right}`, ...marks);
  const header = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
    fc.array(piece, { maxLength: 4 }).map((pieces) => `t=1700000000${pieces.join("")}`),
  );
  const reached = new Set<string>();
  forMany(2000, header, (text) => void reached.add(judged(text, "{}", "secret")));
  expect(reached.size).toBe(3);
});

test("if one bit of the text changes, the signature is invalid", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), (raw, at) => {
      const header = signatureHeader(raw, [keyOf("secret-one")], 1_700_000_000_000);
      expect(judged(header, raw, "secret-one")).toBe("right");
      const changed = Uint8Array.from(raw);
      const index = at % raw.length;
      changed[index] = (changed[index] ?? 0) ^ (1 << (at % 8));
      expect(judged(header, changed, "secret-one")).toBe("wrong");
    }),
  );
});

describe("when core checks a request,", () => {
  const NOW_S = 1_700_000_000;
  const HOUR_MS = 3_600_000;

  /** Returns the outcome of a request that is signed with `secret` at `t`, when the service clock is at `nowMs`. */
  async function judge(nowMs: number, t: number | string, secret = "newest", workspace = ROTATED) {
    const record = { workspace, version: 1 };
    return judgeHeader(nowMs, signatureOf(secret, "{}", t), record);
  }

  /** Returns the outcome of a request with a signature header. `stored` is the record in Redis. */
  async function judgeHeader(nowMs: number, signature: string, cached: WorkspaceRecord, stored = cached) {
    const context = {
      now: () => nowMs,
      requestLimits: { admitAddress: async () => undefined },
      workspaces: { recall: () => cached, read: async () => stored },
    } as unknown as Parameters<typeof judgeCaller>[0];
    const caller = { workspaceId: cached.workspace.id, sourceAddress: "127.0.0.1", signature, signed: "{}" };
    const outcome = await judgeCaller(context, caller, async () => ({ accepted: true }));
    return "refused" in outcome ? outcome.refused : "accepted";
  }

  const ROTATED = newWorkspace({
    secrets: [
      createSigningSecret("newest", NOW_S * 1000),
      createSigningSecret("retired", 0, NOW_S * 1000),
      createSigningSecret("retired before", 0, NOW_S * 1000 - HOUR_MS),
    ],
  });

  // While the stored record is unchanged, `workspaces.read` resolves to the cached object.
  test.each([
    ["a wrong signature", NOW_S, "unknown", "signature"],
    ["an outdated timestamp", NOW_S - 301, "retired before", "timestamp"],
  ])(
    "core calculates one HMAC per active secret for a request with %s, unless the stored record has changed",
    async (_what, t, secret, outcome) => {
      const digest = jest.spyOn(HmacKey.prototype, "digest");
      const cached = { workspace: ROTATED, version: 1 };
      const judgeWith = async (stored: typeof cached) => {
        const header = signatureOf(secret, "{}", t);
        digest.mockClear();
        return [await judgeHeader(NOW_S * 1000 - HOUR_MS, header, cached, stored), digest.mock.calls.length];
      };
      try {
        expect(await judgeWith(cached)).toEqual([outcome, 3]);
        expect(await judgeWith({ ...cached, version: 2 })).toEqual([outcome, 6]);
      } finally {
        digest.mockRestore();
      }
    },
  );

  // contract: rotation-inbound
  test("a secret that was created after the record was cached is accepted", async () => {
    const cached = { workspace: ROTATED, version: 1 };
    const secrets = [createSigningSecret("created now", NOW_S * 1000), ...ROTATED.secrets];
    const stored = { workspace: { ...ROTATED, secrets }, version: 2 };
    const header = signatureOf("created now", "{}", NOW_S);
    expect(await judgeHeader(NOW_S * 1000, header, cached, cached)).toBe("signature");
    expect(await judgeHeader(NOW_S * 1000, header, cached, stored)).toBe("accepted");
  });

  // time: controlled
  // contract: check-5
  test.each([
    ["exactly 5 minutes old", NOW_S * 1000, NOW_S - 300, "accepted"],
    ["5 minutes and a millisecond old", NOW_S * 1000 + 1, NOW_S - 300, "timestamp"],
    ["301 seconds old", NOW_S * 1000, NOW_S - 301, "timestamp"],
    ["301 seconds ahead", NOW_S * 1000, NOW_S + 301, "timestamp"],
    ["exactly 5 minutes ahead", NOW_S * 1000, NOW_S + 300, "accepted"],
    ["5 minutes and a millisecond ahead", NOW_S * 1000 - 1, NOW_S + 300, "timestamp"],
    ["written with leading zeros", NOW_S * 1000, `000${NOW_S}`, "accepted"],
    ["zero", NOW_S * 1000, "0", "timestamp"],
    ["of 30 digits", NOW_S * 1000, "9".repeat(30), "timestamp"],
    ["of 400 digits, which no number can hold", NOW_S * 1000, "9".repeat(400), "timestamp"],
  ])(
    "a timestamp is accepted only within 5 minutes of the service clock: %s",
    async (_what, nowMs, t, outcome) => {
      expect(await judge(nowMs, t)).toBe(outcome);
    },
  );

  // contract: order
  test("a wrong signature takes precedence over a timestamp out of range", async () => {
    expect(await judge(NOW_S * 1000, NOW_S - 301, "unknown")).toBe("signature");
  });

  // time: controlled
  // contract: rotation-inbound
  test.each([
    ["the newest secret", "newest", 0, "accepted"],
    ["the last retired secret, just before 24 hours have passed", "retired", 24 * HOUR_MS - 1, "accepted"],
    ["the last retired secret, after 24 hours", "retired", 24 * HOUR_MS, "signature"],
    [
      "a secret that was retired an hour earlier, just before its 24 hours have passed",
      "retired before",
      23 * HOUR_MS - 1,
      "accepted",
    ],
    [
      "a secret that was retired an hour earlier, after its 24 hours",
      "retired before",
      23 * HOUR_MS,
      "signature",
    ],
    ["the newest secret, a year later", "newest", 365 * 24 * HOUR_MS, "accepted"],
  ])(
    "the newest secret is always accepted, and a retired secret for 24 hours: %s",
    async (_what, secret, afterMs, outcome) => {
      const nowMs = NOW_S * 1000 + afterMs;
      expect(await judge(nowMs, Math.floor(nowMs / 1000), secret)).toBe(outcome);
    },
  );

  // contract: check-3
  test.each([
    ["native", { platform: "native" }],
    ["disconnected", { connected: false }],
  ] as const)(
    "a request for a %s workspace gets the answer for an unknown workspace, before the signature is checked",
    async (_what, change) => {
      expect(await judge(NOW_S * 1000, NOW_S, "unknown", { ...ROTATED, ...change })).toBe(
        "unknown-workspace",
      );
    },
  );
});
