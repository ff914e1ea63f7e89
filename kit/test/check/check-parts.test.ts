import { stripVTControlCharacters } from "node:util";
import { array, assert, constantFrom, property, string, stringMatching, uint8Array } from "fast-check";
import { MALFORMED, WRONG } from "../../check/bad-signatures";
import { createEventMaker, wordOf } from "../../check/events/event-maker";
import { inboundFault } from "../../check/inbound-fields";
import { lineOf, summaryOf } from "../../check/report";
import type { RuleResult } from "../../check/result";
import { checkService } from "../../check/service/check-service";
import { DM_CASES, TEXT_CASES, UNKNOWN_CASES } from "../../check/service/inbound-cases";
import { envelopeFault } from "../../check/service/envelope-fault";
import { secretFault } from "../../secret-form";
import { sign, verify } from "../../signature";
import { coloured } from "../../terminal-colour";
import { startBrokenService, type Alter } from "./broken-bridges/broken-service";

// The check of rate limits pauses between its bursts. The stubs count requests and ignore the time, so pauses would
// only slow down the tests.
jest.mock<object>("node:timers/promises", () => ({
  ...jest.requireActual<object>("node:timers/promises"),
  setTimeout: () => Promise.resolve(),
}));
afterEach(() => jest.restoreAllMocks());

const WORKSPACE = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";
const SECRETS = array(
  string({ minLength: 1 }).filter((text) => secretFault(text) === undefined),
  { minLength: 1, maxLength: 3 },
);

// contract: signature-format
test.each([...MALFORMED, ...WRONG])(
  "a request with $what is never valid, whatever the body and the secrets",
  ({ spoil }) => {
    assert(
      property(uint8Array(), SECRETS, (body, secrets) => {
        const header = spoil(sign(body, secrets), body);
        expect(verify(header, body, secrets)).toMatch(/^(missing|malformed|wrong)$/);
      }),
    );
  },
);

const KINDS = ["create", "dm", "ephemeral", "ping"] as const;

test("all events that the check creates follow the contract, and are distinct", () => {
  assert(
    property(array(constantFrom(...KINDS), { minLength: 1 }), (kinds) => {
      const make = createEventMaker({ workspace: WORKSPACE, channel: "c", user: "u" });
      const events = kinds.map((kind) => (kind === "ping" ? make.ping() : make[kind]("text")));
      for (const event of events) expect(envelopeFault(event, WORKSPACE)).toBeUndefined();
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      const sequences = events.map(({ sequence }) => sequence);
      expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
      const words = events.flatMap((event) => ("message" in event ? [wordOf(event.message)] : []));
      for (const [i, word] of words.entries()) {
        expect(words.some((other, j) => i !== j && other.includes(word))).toBe(false);
      }
    }),
  );
});

const button = (action: string) => ({ label: "a", action });
const EVENT = createEventMaker({ workspace: WORKSPACE, channel: "c", user: "u" }).create("text");

test.each<[string, object, RegExp]>([
  ["a malformed id", { id: "evt_1" }, /its id is not evt_/],
  ["another workspace", { workspace: "another" }, /workspace is not the polled workspace/],
  ["a sequence of 0", { sequence: 0 }, /sequence is below 1/],
  ["a sequence of 2^53", { sequence: 2 ** 53 }, /must have id, type/],
  ["a time that is not in UTC", { createdAt: "2026-01-01T00:00:00+01:00" }, /createdAt/],
  ["an expiry that is not a time", { expiresAt: "tomorrow" }, /expiresAt/],
  ["an unknown type", { type: "message.delete" }, /type "message.delete" is unknown/],
  ["no channel", { channel: undefined }, /must have channel/],
  ["a malformed message id", { message: { ...EVENT.message, id: "1" } }, /message.id/],
  ["buttons without rows", { message: { ...EVENT.message, buttons: [button("b")] } }, /rows/],
  [
    "an action of 513 characters",
    { message: { ...EVENT.message, buttons: [[button("x".repeat(513))]] } },
    /rows/,
  ],
  ["an image that is not a URI", { message: { ...EVENT.message, image: "picture" } }, /image/],
  ["awaitsReply missing", { message: { ...EVENT.message, awaitsReply: undefined } }, /awaitsReply/],
  ["data that is a list", { message: { ...EVENT.message, data: [] } }, /data/],
])("the check reports an event with %s", (_what, change, told) => {
  expect(envelopeFault({ ...EVENT, ...change }, WORKSPACE)).toMatch(told);
});

test("the check accepts an event with a new kind and new fields", () => {
  const message = { ...EVENT.message, kind: "new", more: 1 };
  expect(envelopeFault({ ...EVENT, message, more: 1 }, WORKSPACE)).toBeUndefined();
});

test.each([...TEXT_CASES, ...UNKNOWN_CASES, ...DM_CASES])(
  "the check of sent events and the service give the same verdict on $what",
  ({ event, field }) => {
    expect(inboundFault(JSON.parse(JSON.stringify(event)))?.field).toBe(field);
  },
);

test("the check of sent events reports text that is not well-formed Unicode, as the service does", () => {
  const sent = { type: "message", channel: "c", user: { id: "u", name: "Ann \ud83d" }, text: "hi" };
  expect(inboundFault(sent)).toEqual({
    field: "user.name",
    says: expect.stringContaining("half of a surrogate"),
  });
  expect(inboundFault({ ...sent, user: { id: "u" }, text: "\ude00" })?.field).toBe("text");
});

test("a long line of the report is wrapped at spaces, without losing a word", () => {
  const words = array(stringMatching(/^[!-~]{1,30}$/), { minLength: 1, maxLength: 60 });
  assert(
    property(words, (list) => {
      const line = lineOf({ id: "rule", says: list.join(" "), verdict: "passed", ms: 1 });
      expect(line.split(/\s+/).slice(1)).toEqual(["ok", "rule", ...list]);
      for (const each of line.split("\n")) expect(each.length).toBeLessThanOrEqual(100);
    }),
  );
});

test("a coloured line or summary contains the same text as one without colour", () => {
  const rule = { id: "rule", says: "The bridge answers.", ms: 1 };
  const results: readonly RuleResult[] = [
    { ...rule, verdict: "passed" },
    { ...rule, verdict: "failed", found: "found", fix: "fix" },
    { ...rule, verdict: "not reached", found: "found", fix: "fix" },
    { ...rule, verdict: "partly checked", why: "why" },
    { ...rule, verdict: "skipped", why: "why" },
  ];
  for (const result of results) {
    expect(lineOf(result, true)).not.toBe(lineOf(result));
    expect(stripVTControlCharacters(lineOf(result, true))).toBe(lineOf(result));
  }
  const checked = {
    mode: "bridge",
    of: "http://localhost",
    ok: false,
    rules: results,
    blind: ["x"],
  } as const;
  expect(stripVTControlCharacters(summaryOf(checked, true))).toBe(summaryOf(checked));
  const verdict = coloured("bad", "this bridge breaks the contract");
  expect(summaryOf(checked, true).endsWith(`1 skipped: ${verdict}\n`)).toBe(true);
});

const LIMITED = Buffer.from('{"statusCode":429,"message":"too many","error":"Too Many Requests"}');
const limitAfter =
  (most: number, headers: Record<string, string> = { "retry-after": "1" }): Alter =>
  (answer, count) =>
    // The check of an earlier rule sends the first request, so the test does not count that request.
    count > most + 1 ? { status: 429, headers, body: LIMITED } : answer;

// time: controlled
test.each<[string, string, Alter, RegExp]>([
  ["limits a workspace", "workspace-limit", limitAfter(250), /^250 of 500 were let through/],
  ["limits an address", "address-limit", limitAfter(500), /^500 of 1000 were let through/],
  ["never limits requests", "workspace-limit", (answer) => answer, /^all 1000 requests in .* let through/],
  ["sends no Retry-After", "workspace-limit", limitAfter(250, {}), /^Retry-After of a 429 is ""/],
  ["limits too early", "workspace-limit", limitAfter(249), /^only 249 requests were let through/],
  ["limits too late", "workspace-limit", limitAfter(1_100), /^600 requests were let through .* 500 at most/],
])(
  "the check of rate limits gives the right result for a service that %s",
  async (_what, rule, alter, told) => {
    const { url, close } = await startBrokenService(undefined, alter);
    // The clock is stopped, so the bursts take no time in the check's measurement.
    jest.spyOn(performance, "now").mockReturnValue(0);
    const options = { url, workspace: WORKSPACE, secrets: ["s"], withLimits: true, only: [rule] };
    const { rules } = await checkService(options);
    await close();
    expect(rules.map(({ id }) => id)).toEqual(["accepts", rule]);
    const { found, note } = rules[1] as { readonly found?: string; readonly note?: string };
    expect(found ?? note).toMatch(told);
  },
);
