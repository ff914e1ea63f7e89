import { adviceFor, outcomeOf } from "../../dashboard/words/advice";
import { healthWords } from "../../dashboard/words/health-words";
import { snippetFor, snippetsFor } from "../../dashboard/words/snippets";
import { RESULTS, type HealthShape, type PushHealthShape } from "../../edge/dashboard/shapes";
import { ago, delivery, NOW } from "./dashboard-delivery";

const CUSTOM = { custom: true, connected: true };

const PUSH: PushHealthShape = {
  mode: "push",
  lastSuccess: null,
  lastFailure: null,
  attempts: 0,
  successes: 0,
  latencyP50Ms: 0,
  latencyP95Ms: 0,
  latencyP99Ms: 0,
};
const POLL = {
  mode: "poll",
  failing: false,
  failingSince: null,
  lastPollAt: null,
  waiting: 0,
  oldestWaitingAt: null,
} as const;

describe("what to do", () => {
  test.each(RESULTS.filter((result) => result !== "success"))("is said for the error class %s", (result) => {
    expect(adviceFor(delivery({ result, status: 500 }))).toMatch(/^[A-Z].{30,}\.$/);
  });

  test("is not said where nothing is wrong", () => {
    expect(adviceFor(delivery({ status: 204 }))).toBeUndefined();
  });

  test.each([
    [301, /Redirects are not followed/],
    [401, /newest signing secret/],
    [403, /newest signing secret/],
    [404, /path of the target URL/],
    [405, /POST/],
    [413, /larger/],
    [429, /more requests/],
    [500, /bridge's own log/],
    [418, /why it refuses/],
  ])("after a %d is its own", (status, words) => {
    expect(adviceFor(delivery({ result: "status", status }))).toMatch(words);
  });

  test.each([
    ["before there was a connection", { status: 0, address: "" }, "connect", /firewall/],
    ["in the log before there was a connection", { status: 0, address: "" }, undefined, /firewall/],
    ["in the TLS handshake", { status: 0 }, "tls", /HTTPS on this port/],
    ["before an answer", { status: 0 }, "status", /2xx at once/],
    ["within an answer", { status: 200 }, "status", /end its answer/],
  ] as const)("after a timeout %s is its own", (_where, facts, failedStep, words) => {
    expect(adviceFor(delivery({ result: "timeout", ...facts }), failedStep)).toMatch(words);
  });
});

describe("health in words", () => {
  const failure = delivery({ at: ago(60_000), result: "tls", status: 0 });
  const success = delivery({ at: ago(120_000) });
  test.each<[string, typeof CUSTOM, HealthShape, string, string]>([
    ["a native workspace", { custom: false, connected: false }, null, "idle", "No bridge"],
    ["a disconnected one", { custom: true, connected: false }, null, "idle", "Disconnected"],
    [
      "a poll workspace that fails",
      CUSTOM,
      { ...POLL, failing: true, waiting: 3, oldestWaitingAt: ago(400_000) },
      "bad",
      "Failing",
    ],
    ["one that never polled, with nothing waiting", CUSTOM, POLL, "idle", "Never polled"],
    [
      "one that never polled, with events waiting",
      CUSTOM,
      { ...POLL, waiting: 1, oldestWaitingAt: ago(1_000) },
      "warn",
      "Never polled",
    ],
    ["one that polls", CUSTOM, { ...POLL, lastPollAt: ago(2_000) }, "good", "Polling"],
    [
      "one that has stopped, with nothing waiting",
      CUSTOM,
      { ...POLL, lastPollAt: ago(3_600_000) },
      "idle",
      "Quiet",
    ],
    [
      "one that has stopped, with events waiting",
      CUSTOM,
      { ...POLL, lastPollAt: ago(100_000), waiting: 2, oldestWaitingAt: ago(90_000) },
      "warn",
      "Quiet",
    ],
    ["a push workspace without pushes", CUSTOM, PUSH, "idle", "Nothing pushed"],
    [
      "one whose last push failed",
      CUSTOM,
      { ...PUSH, lastSuccess: success, lastFailure: failure, attempts: 2, successes: 1 },
      "bad",
      "Failing",
    ],
    [
      "one whose last push went well after a failure",
      CUSTOM,
      { ...PUSH, lastSuccess: delivery(), lastFailure: failure, attempts: 2, successes: 1 },
      "warn",
      "Some fail",
    ],
    [
      "one where all went well",
      CUSTOM,
      { ...PUSH, lastSuccess: success, attempts: 4, successes: 4 },
      "good",
      "Pushing",
    ],
    [
      "one without pushes in the last hour",
      CUSTOM,
      { ...PUSH, lastSuccess: delivery({ at: ago(7_200_000) }) },
      "good",
      "Quiet",
    ],
  ])("of %s", (_what, workspace, health, tone, label) => {
    expect(healthWords(workspace, health, NOW)).toMatchObject({
      tone,
      label,
      sentence: expect.stringMatching(/\.$/) as string,
    });
  });

  test("what is bad always says what to do", () => {
    for (const result of RESULTS.filter((each) => outcomeOf(each) === "failed")) {
      const health = { ...PUSH, lastFailure: delivery({ result, status: 500 }) };
      expect(healthWords(CUSTOM, health, NOW).advice).toMatch(/\w/);
    }
  });

  test("what failed is named within the sentence as in the log", () => {
    const sentenceOf = (result: "connect" | "tls") =>
      healthWords(CUSTOM, { ...PUSH, lastFailure: delivery({ result, at: ago(60_000) }) }, NOW).sentence;
    expect(sentenceOf("connect")).toBe("The last push failed 1 min ago: no connection.");
    expect(sentenceOf("tls")).toBe("The last push failed 1 min ago: TLS failed.");
  });
});

describe("what a bridge is given", () => {
  const facts = { publicUrl: "https://hooks.example", workspaceId: "w1", secret: "s1" };
  test("has the settings under the names that the guide and the kit know", () => {
    expect(snippetFor("settings", facts).split("\n")).toEqual([
      "BASE_URL=https://hooks.example",
      "WORKSPACE_ID=w1",
      "SIGNING_SECRET=s1",
    ]);
  });

  test("has a poll only where there is something to poll", () => {
    const namesFor = (mode: "poll" | "push") => snippetsFor(mode).map(({ name }) => name);
    expect(namesFor("poll")).toEqual(["settings", "command", "poll"]);
    expect(namesFor("push")).toEqual(["settings", "command"]);
  });
});
