import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { verify } from "../../kit/signature";
import { asCurl } from "../../demo/chat/page/as-curl";
import type { Exchange } from "../../demo/chat/shapes";
import { forMany } from "../harness/for-all";

const SECRET = "the secret's $value";
const SIDE = { headers: [], body: "", isShortened: false };

function exchange(what: Exchange["what"], path: string, body: string): Exchange {
  const headers = [
    ["content-type", "application/json"],
    ["service-signature", "t=1,v1=01234567…"],
  ] as const;
  const method = what === "poll" ? "GET" : "POST";
  const request = { headers: what === "poll" ? headers.slice(1) : headers, body, isShortened: false };
  return {
    id: 1,
    at: "",
    what,
    method,
    path,
    request,
    answer: SIDE,
    failure: null,
    ms: 1,
    times: 1,
  } as never;
}

/** Runs the commands in a shell in which `curl` prints its arguments. Returns the arguments. */
function run(commands: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${commands}`;
  const env = {
    PATH: process.env["PATH"],
    SIGNING_SECRET: SECRET,
    BASE_URL: "http://127.0.0.1:1/base",
    TARGET_URL: "https://chat.test/pushes",
  };
  return execFileSync("sh", ["-c", script], { env }).toString("utf8").split("\0").slice(0, -1);
}

const valueAfter = (args: readonly string[], name: string) => args[args.indexOf(name) + 1];
const headersOf = (args: readonly string[]) => args.filter((_, i) => args[i - 1] === "-H");
const signatureOf = (args: readonly string[]) =>
  headersOf(args).flatMap((each) => /^service-signature: (.*)$/.exec(each)?.[1] ?? [])[0];

test("the copied commands send the same bytes with a valid signature, whatever the body contains", () => {
  const text = fc.string({ unit: fc.constantFrom(..."'\"\\$`!%\n üß{}") });
  forMany(25, text, (typed) => {
    const body = JSON.stringify({ type: "message", text: typed });
    const args = run(asCurl(exchange("report", "/base/hooks/w1", body)) ?? "");
    expect(valueAfter(args, "-i")).toBe("http://127.0.0.1:1/base/hooks/w1");
    expect(valueAfter(args, "--data-binary")).toBe(body);
    expect(headersOf(args)).toContain("content-type: application/json");
    expect(verify(signatureOf(args), body, [SECRET])).toBeUndefined();
  });
});

test("a copied poll is signed over its query string, and a copied push goes to the target URL", () => {
  const poll = run(asCurl(exchange("poll", "/hooks/w1/events?after=5&limit=10", "")) ?? "");
  expect(valueAfter(poll, "-i")).toBe("http://127.0.0.1:1/base/hooks/w1/events?after=5&limit=10");
  expect(poll).not.toContain("--data-binary");
  expect(verify(signatureOf(poll), "after=5&limit=10", [SECRET])).toBeUndefined();
  const push = run(asCurl(exchange("push", "/pushes", '{"a":1}')) ?? "");
  expect(valueAfter(push, "-i")).toBe("https://chat.test/pushes");
  expect(verify(signatureOf(push), '{"a":1}', [SECRET])).toBeUndefined();
});

test("the commands contain neither the secret nor the old signature; a shortened request cannot be copied", () => {
  const report = exchange("report", "/hooks/w1", "{}");
  const commands = asCurl(report);
  expect(commands).toContain("$SIGNING_SECRET");
  expect(commands).not.toContain("01234567");
  expect(asCurl({ ...report, request: { ...report.request, isShortened: true } })).toBeUndefined();
});
