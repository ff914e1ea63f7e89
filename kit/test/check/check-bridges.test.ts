import { checkBridge, type BridgeCheckOptions } from "../../check/push/check-bridge";
import { createPrinter, summaryOf } from "../../check/report";
import type { CheckResult } from "../../check/result";
import { RULES } from "../../check/rules";
import { BROKEN_BRIDGES } from "./broken-bridges/broken-bridges";
import { CORRECT_SHOWS } from "./broken-bridges/broken-texts";
import { startKitBridge } from "./broken-bridges/kit-bridge";
import { SECRET, type RunningBridge } from "./broken-bridges/memory-chat";
import { startPlainBridge } from "./broken-bridges/plain-bridge";
import { onFakeClock } from "../harness/fake-clock";

// Makes the pauses of `node:timers/promises` use the fake clock too.
jest.mock<object>("node:timers/promises", () =>
  jest.requireActual<typeof import("../harness/fake-clock")>("../harness/fake-clock").fakeTimersPromises(),
);

async function check(
  start: Promise<RunningBridge>,
  change: Partial<BridgeCheckOptions> = {},
  isObserved = true,
) {
  const bridge = await start;
  const seen = isObserved ? { observe: bridge.observe } : {};
  const { url } = bridge;
  const result = await checkBridge({ url, secrets: [SECRET], withinMs: 3_000, ...seen, ...change });
  await bridge.close();
  return result;
}

const printed = { output: "", waiting: "" };
const into = (stream: keyof typeof printed) => ({ write: (text: string) => (printed[stream] += text) });
const progress = createPrinter(into("output"), into("waiting"));
let results: ReadonlyMap<string, CheckResult>;
/** Runs all checks concurrently, on a fake clock, so that only the requests take real time. */
beforeAll(async () => {
  results = await onFakeClock(async () => {
    const checks: [string, Promise<CheckResult>][] = [
      ["kit", check(startKitBridge(), { progress })],
      ["plain", check(startPlainBridge())],
      ["unobserved", check(startKitBridge(), {}, false)],
    ];
    for (const [what, change] of CORRECT_SHOWS) checks.push([what, check(startPlainBridge(change))]);
    checks.push(["given", check(startPlainBridge(), { channel: " Ünï ", user: "Zoë" })]);
    for (const [what, change] of BROKEN_BRIDGES) checks.push([what, check(startPlainBridge(change))]);
    return new Map(await Promise.all(checks.map(async ([what, checked]) => [what, await checked] as const)));
  });
});

// time: controlled
// contract: kit-hold-update, kit-sequence-order, kit-dedupe
test.each(["kit", "plain"])("a correct bridge passes every rule (%s)", (what) => {
  const { ok, rules } = results.get(what) ?? {};
  expect([ok, rules?.map(({ verdict }) => verdict)]).toEqual([true, RULES.bridge.map(() => "passed")]);
});

// time: controlled
test.each(CORRECT_SHOWS)("a bridge passes every rule if its chat %s", (what, _change, partly) => {
  const { rules = [] } = results.get(what) ?? {};
  const others = rules.filter(({ verdict }) => verdict !== "passed");
  expect(others.map(({ id, verdict }) => `${id}: ${verdict}`)).toEqual(partly);
});

// time: controlled
test("if a channel and a user are given, the check sends every message to them, and uses no other ids", () => {
  const { ok, rules = [] } = results.get("given") ?? {};
  const ids = rules.find(({ id }) => id === "ids-unchanged");
  expect([ok, ids]).toMatchObject([true, { verdict: "passed", note: "only the given --channel and --user" }]);
});

// time: controlled
test("the report contains a line for every rule, announces long waits, and lists rules that cannot be checked", () => {
  for (const { id } of RULES.bridge) expect(printed.output).toMatch(new RegExp(`^  ok +${id} `, "m"));
  expect(printed.waiting).toContain("the check waits for 7 seconds");
  const result = results.get("kit");
  const summary = result === undefined ? "" : summaryOf(result);
  expect(summary).toContain(`${RULES.bridge.length} passed, 0 failed, 0 partly checked, 0 skipped`);
  expect(summary).toMatch(
    /Not checked, because it cannot be seen from outside:\n {2}- that digests are compared in constant time/,
  );
});

// time: controlled
test("without an observation endpoint, rules about shown messages are reported as partly checked, not as broken", () => {
  const { ok, rules = [] } = results.get("unobserved") ?? {};
  const partly = rules.filter((rule) => rule.verdict === "partly checked");
  const shown =
    "observed every-type every-kind unknown-kind unknown-fields text-unchanged long-text ids-unchanged repeats";
  const updated = "expired-dropped update-in-place update-order update-held hold-ends";
  expect([ok, partly.map(({ id }) => id).join(" ")]).toEqual([true, `${shown} ${updated}`]);
  for (const { why } of partly) expect(why).toMatch(/^(whether|which|there is no --observe)/);
});

// time: controlled
test.each(BROKEN_BRIDGES)("the check detects a bridge that %s", (what, _change, breaks, told) => {
  const { ok, rules = [] } = results.get(what) ?? {};
  const failed = rules.filter(({ verdict }) => verdict === "failed");
  expect([ok, failed.map(({ id }) => id).join(" ")]).toEqual([false, breaks]);
  const [first] = failed;
  const { found, cause, fix } = { found: "", cause: "", fix: "", ...first };
  expect(`${found}\n${cause}\n${fix}`).toMatch(told);
});

test("for a bridge that accepts nothing, rules about rejected pushes are reported as partly checked, and one line covers all skipped rules", () => {
  const result = results.get("has a secret other than the workspace's");
  const ids = (wanted: string) =>
    (result?.rules ?? []).filter(({ verdict }) => verdict === wanted).map(({ id }) => id);
  expect(ids("partly checked")).toEqual(["unsigned-refused", "forged-refused", "raw-bytes", "old-refused"]);
  const skipped = ids("skipped");
  expect(skipped.length).toBe(RULES.bridge.length - 5);
  const lines = (result === undefined ? "" : summaryOf(result)).match(/^.*skipped .*$/gm);
  const told = new RegExp(`^  skipped  ${skipped.length} rules +answers must pass first$`);
  expect(lines).toEqual([expect.stringMatching(told)]);
});
