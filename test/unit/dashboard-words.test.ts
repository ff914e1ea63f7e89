import { DELIVERY_RESULTS } from "../../contract/deliveries";
import { adviceFor } from "../../dashboard/words/advice";
import { healthWords } from "../../dashboard/words/health-words";
import type { HealthShape, PushHealthShape } from "../../edge/dashboard/shapes";
import { ago, delivery, NOW } from "./dashboard-delivery";

const CUSTOM = { custom: true, connected: true };

const COMMON = { state: null, recoveredAt: null, firstPostAt: null };
const NO_LATENCY = { latencyP50Ms: 0, latencyP95Ms: 0, latencyP99Ms: 0 };
const NO_PUSH = { ...COMMON, lastSuccess: null, lastFailure: null, attempts: 0, successes: 0, ...NO_LATENCY };
const pushed = (more: Partial<PushHealthShape> = {}): HealthShape => ({ mode: "push", ...NO_PUSH, ...more });
const NO_POLL = {
  ...COMMON,
  failing: false,
  failingSince: null,
  lastPollAt: null,
  waiting: 0,
  oldestWaitingAt: null,
};
const polled = (more: Partial<Record<keyof typeof NO_POLL, unknown>> = {}): HealthShape =>
  ({ mode: "poll", ...NO_POLL, ...more }) as HealthShape;

describe("the advice", () => {
  test.each(DELIVERY_RESULTS.filter((result) => result !== "success"))(
    "is given for the delivery result %s",
    (result) => {
      expect(adviceFor(delivery({ result, status: 500 }))).toMatch(/^[A-Z].{30,}\.$/);
    },
  );

  test.each([
    [301, /Redirects are not followed/],
    [401, /newest signing secret/],
    [403, /newest signing secret/],
    [404, /path of the target URL/],
    [405, /POST/],
    [413, /larger/],
    [429, /more requests/],
    [500, /bridge's own log/],
    [418, /own log for the reason/],
  ])("after a %d is specific to that status", (status, words) => {
    expect(adviceFor(delivery({ result: "status", status }))).toMatch(words);
  });

  test.each([
    ["before the connection was made", { status: 0, address: "" }, "connect", /firewall/],
    [
      "before the connection was made, in a logged delivery,",
      { status: 0, address: "" },
      undefined,
      /firewall/,
    ],
    ["in the TLS handshake", { status: 0 }, "tls", /HTTPS on the port of the target URL/],
    ["before an answer", { status: 0 }, "status", /2xx immediately/],
    ["within an answer", { status: 200 }, "status", /finish the response/],
  ] as const)("after a timeout %s is specific to that step", (_where, facts, failedStep, words) => {
    expect(adviceFor(delivery({ result: "timeout", ...facts }), failedStep)).toMatch(words);
  });
});

describe("health in words", () => {
  const failure = delivery({ at: ago(60_000), result: "tls", status: 0 });
  const success = delivery({ at: ago(120_000) });
  const waiting = (count: number, ageMs: number) => ({ waiting: count, oldestWaitingAt: ago(ageMs) });
  const failed = { lastSuccess: success, lastFailure: failure, attempts: 2, successes: 1 };
  const stopped = { lastPollAt: ago(100_000), ...waiting(2, 90_000) };

  test.each<[string, HealthShape, string]>([
    ["a failing poll workspace", polled({ failing: true, ...waiting(3, 400_000) }), "bad Failing"],
    ["a workspace that was never polled", polled(), "idle Never polled"],
    [
      "a workspace that was never polled, with events waiting",
      polled(waiting(1, 1_000)),
      "warn Never polled",
    ],
    ["a poll workspace whose bridge polls", polled({ lastPollAt: ago(2_000) }), "good Polling"],
    [
      "a poll workspace whose bridge has stopped polling",
      polled({ lastPollAt: ago(3_600_000) }),
      "idle Quiet",
    ],
    ["a poll workspace whose bridge has stopped polling, with events waiting", polled(stopped), "warn Quiet"],
    ["a push workspace without pushes", pushed(), "idle Nothing pushed"],
    ["a push workspace whose last push failed", pushed(failed), "bad Failing"],
    ["a recovered push workspace", pushed({ ...failed, lastSuccess: delivery() }), "warn Recovered"],
    [
      "a push workspace without failures",
      pushed({ lastSuccess: success, attempts: 4, successes: 4 }),
      "good Pushing",
    ],
    [
      "a push workspace without recent pushes",
      pushed({ lastSuccess: delivery({ at: ago(7_200_000) }) }),
      "good Quiet",
    ],
  ])("describes %s", (_what, health, words) => {
    const { tone, label, sentence } = healthWords(CUSTOM, health, NOW);
    expect([`${tone} ${label}`, sentence]).toEqual([words, expect.stringMatching(/\.$/)]);
  });

  test("says when a push workspace recovered, and gives no advice", () => {
    const lastFailure = delivery({ at: ago(15 * 60_000), result: "connect", status: 0 });
    const [lastSuccess, first] = [delivery({ at: ago(2_000) }), delivery({ at: ago(13 * 60_000) })];
    const poll = delivery({ eventType: "poll", polls: 1, at: ago(14 * 60_000) });
    const before = delivery({ at: ago(16 * 60_000) });
    const health = pushed({ lastSuccess, lastFailure, attempts: 54, successes: 53 });
    const log = [lastSuccess, first, poll, lastFailure, before];
    const facts =
      "the last push was accepted 2 s ago. In the last hour, 1 of 54 attempts failed. The last failure was 15 min ago: no connection.";
    const words = (begin: string) => ({ tone: "good", label: "Recovered", sentence: `${begin}: ${facts}` });
    expect(healthWords(CUSTOM, health, NOW, log)).toEqual(words("Recovered 13 min ago"));
    expect(healthWords(CUSTOM, health, NOW)).toEqual(words("Recovered"));
  });

  test.each([
    [{ custom: false, connected: false }, "No bridge"],
    [{ custom: true, connected: false }, "Disconnected"],
  ])("describes a workspace with %j", (workspace, label) => {
    const sentence = expect.stringMatching(/\.$/) as string;
    expect(healthWords(workspace, null, NOW)).toMatchObject({ tone: "idle", label, sentence });
  });
});
