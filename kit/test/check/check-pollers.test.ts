import { checkPoller, type PollerCheckOptions, type PollerPlace } from "../../check/poll/check-poller";
import { createPrinter } from "../../check/report";
import type { CheckResult } from "../../check/result";
import { RULES } from "../../check/rules";
import { onFakeClock } from "../harness/fake-clock";
import { plainHost } from "../../../test/harness/plain-host";
import { BROKEN_POLLERS } from "./broken-bridges/broken-pollers";
import { startKitPoller, type RunningPoller } from "./broken-bridges/kit-poller";
import { createMemoryChat, SECRET, type MemoryChat } from "./broken-bridges/memory-chat";
import { startPlainPoller, type PollerChange } from "./broken-bridges/plain-poller";

// Makes the pauses of `node:timers/promises` use the fake clock too.
jest.mock<object>("node:timers/promises", () =>
  jest.requireActual<typeof import("../harness/fake-clock")>("../harness/fake-clock").fakeTimersPromises(),
);

type Start = (place: PollerPlace, chat: MemoryChat) => RunningPoller;

/** Runs the check while the bridge that `start` starts is polling. If `start` is undefined, no bridge polls. */
async function check(
  start: Start | undefined,
  change: Partial<PollerCheckOptions> = {},
  isObserved = true,
): Promise<CheckResult> {
  const chat = createMemoryChat();
  const observation = await plainHost((_request, response) => chat.observe(response));
  let bridge: RunningPoller | undefined;
  const result = await checkPoller({
    secrets: [SECRET],
    withinMs: 3_000,
    ...(isObserved ? { observe: new URL(observation.url) } : {}),
    ...change,
    onListening: (place) => void (bridge = start?.(place, chat)),
  });
  await bridge?.stop();
  await observation.close();
  return result;
}

const plain =
  (change: PollerChange = {}): Start =>
  (place, chat) =>
    startPlainPoller(place, chat, change);

/** Starts the kit's bridge, whose chat shows each message only after 5 seconds. */
const startSlowKitPoller: Start = (place, chat) => startKitPoller(place, chat, 5_000);

const EVENT = { type: "action", id: "1", channel: "dm:u1", user: { id: "u1" }, messageId: "m", action: "a" };
const printed = { output: "", waiting: "" };
const into = (stream: keyof typeof printed) => ({ write: (text: string) => (printed[stream] += text) });
const progress = createPrinter(into("output"), into("waiting"));
let results: ReadonlyMap<string, CheckResult>;
/** Runs all checks concurrently, on a fake clock, so that only the requests take real time. */
beforeAll(async () => {
  results = await onFakeClock(async () => {
    const checks: [string, Promise<CheckResult>][] = [
      ["kit", check(startKitPoller, { progress })],
      ["kit with a slow chat", check(startSlowKitPoller, { withinMs: 20_000 })],
      ["plain", check(plain({ sends: EVENT }))],
      [
        "a limit of one",
        check(plain({ query: ({ after }) => `${after === null ? "" : `after=${after}&`}limit=1` })),
      ],
      ["latest", check(plain({ query: ({ after }) => `after=${after ?? "latest"}` }))],
      ["an old cursor", check(plain({ query: ({ after }) => `after=${after ?? "17"}` }))],
      ["two secrets", check(plain(), { secrets: ["a new secret", SECRET] })],
      ["unobserved", check(plain(), {}, false)],
      ["only", check(plain(), { only: ["gap"] })],
      ["nothing", check(undefined, { waitMs: 5_000 })],
    ];
    for (const [what, change] of BROKEN_POLLERS) checks.push([what, check(plain(change))]);
    return new Map(await Promise.all(checks.map(async ([what, checked]) => [what, await checked] as const)));
  });
});

const verdictsOf = (what: string) => results.get(what)?.rules.map(({ verdict }) => verdict);
const idsOf = (what: string, wanted: string) =>
  (results.get(what)?.rules ?? []).flatMap(({ id, verdict }) => (verdict === wanted ? [id] : []));

// time: controlled
test.each(["kit", "kit with a slow chat", "plain"])("a correct bridge passes every rule (%s)", (what) => {
  expect(idsOf(what, "failed")).toEqual([]);
  expect([results.get(what)?.ok, verdictsOf(what)]).toEqual([true, RULES.poller.map(() => "passed")]);
});

// time: controlled
test.each(["a limit of one", "latest", "an old cursor", "two secrets"])(
  "a correct bridge that sends no event passes every rule that needs no sent event: %s",
  (what) => {
    expect([idsOf(what, "failed"), idsOf(what, "partly checked")]).toEqual([
      [],
      ["inbound-valid", "inbound-retry"],
    ]);
    expect(results.get(what)?.ok).toBe(true);
  },
);

// time: controlled
test("the report contains a line for every rule, and announces the wait for the first poll", () => {
  for (const { id } of RULES.poller) expect(printed.output).toMatch(new RegExp(`^  ok +${id} `, "m"));
  expect(printed.waiting).toContain("waiting up to 120 seconds for the bridge's first poll");
});

// time: controlled
test("without an observation endpoint, rules about shown messages are reported as partly checked, not as broken", () => {
  const shown =
    "observed dropped-connection every-type every-kind unknown-kind unknown-fields text-unchanged long-text ids-unchanged unknown-type gap";
  const updated =
    "highest-update update-of-expired repeats expired-dropped update-in-place update-order update-held";
  expect(idsOf("unobserved", "failed")).toEqual([]);
  expect(idsOf("unobserved", "partly checked").join(" ")).toBe(
    `${shown} ${updated} inbound-valid inbound-retry`,
  );
});

// time: controlled
test("with `only`, the check judges the given rules, and the rules that they depend on", () => {
  expect(results.get("only")?.rules.map(({ id }) => id)).toEqual(["polls", "cursor", "observed", "gap"]);
  expect(verdictsOf("only")).toEqual(["passed", "passed", "passed", "passed"]);
});

// time: controlled
test("if nothing polls, no rule fails, and the first rule says how to configure the bridge", () => {
  const { ok, rules: [first, ...others] = [] } = results.get("nothing") ?? {};
  expect([ok, first]).toMatchObject([
    false,
    {
      verdict: "not reached",
      found: "there was no poll within 5 s",
      fix: expect.stringContaining("base URL"),
    },
  ]);
  expect(new Set(others.map(({ verdict }) => verdict))).toEqual(new Set(["skipped"]));
});

// time: controlled
test.each(BROKEN_POLLERS)("the check detects a bridge that %s", (what, _change, breaks, told) => {
  const failed = (results.get(what)?.rules ?? []).filter(({ verdict }) => verdict === "failed");
  expect([results.get(what)?.ok, failed.map(({ id }) => id).join(" ")]).toEqual([false, breaks]);
  const [first] = failed;
  const { found, cause, fix } = { found: "", cause: "", fix: "", ...first };
  expect(`${found}\n${cause}\n${fix}`).toMatch(told);
});
