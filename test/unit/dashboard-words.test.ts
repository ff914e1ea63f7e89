import { DELIVERY_RESULTS } from "../../contract/deliveries";
import { adviceFor } from "../../dashboard/words/advice";
import { healthWords } from "../../dashboard/words/health-words";
import type { HealthShape, PushHealthShape } from "../../proto/json/shapes";
import { ago, delivery, NOW } from "./dashboard-delivery";

const CUSTOM = { custom: true, connected: true, missingKey: "" };

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
  eventsRefusedAt: null,
};
const polled = (more: Partial<Record<keyof typeof NO_POLL, unknown>> = {}): HealthShape =>
  ({ mode: "poll", ...NO_POLL, ...more }) as HealthShape;

describe("the advice", () => {
  test.each(DELIVERY_RESULTS.filter((result) => result !== "success"))(
    "advice is given for the delivery result %s",
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
    [409, /check the bridge's clock/],
    [418, /own log for the reason/],
  ])("advice names what to do after a %d", (status, words) => {
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
  ] as const)("advice names what to do after a timeout %s", (_where, facts, failedStep, words) => {
    expect(adviceFor(delivery({ result: "timeout", ...facts }), failedStep)).toMatch(words);
  });
});

describe("health in words", () => {
  const failure = delivery({ at: ago(60_000), result: "tls", status: 0 });
  const success = delivery({ at: ago(2_000) });
  const waiting = { waiting: 2, oldestWaitingAt: ago(90_000) };
  const counts = { attempts: 54, successes: 53 };
  const failed = { lastSuccess: success, lastFailure: failure, ...counts };

  test.each<[HealthShape, string, string, RegExp | undefined]>([
    [
      polled({ state: "unused" }),
      "idle Never polled",
      "The bridge has never polled. No events are waiting.",
      undefined,
    ],
    [
      polled({ state: "failing", failing: true, ...waiting }),
      "bad Failing",
      "The bridge has never polled. 2 events are waiting, the oldest for 1 min.",
      /Start the bridge/,
    ],
    [
      polled({ state: "healthy", lastPollAt: ago(2_000) }),
      "good Healthy",
      "The bridge polled 2 s ago. No events are waiting.",
      undefined,
    ],
    [
      polled({ state: "healthy", lastPollAt: ago(2_000), waiting: 2, oldestWaitingAt: ago(360_000) }),
      "good Healthy",
      "The bridge polled 2 s ago. 2 events are waiting, the oldest for 6 min.",
      /remove the saved cursor/,
    ],
    [
      polled({ state: "healthy", lastPollAt: ago(2_000), ...waiting }),
      "good Healthy",
      "The bridge polled 2 s ago. 2 events are waiting, the oldest for 1 min.",
      undefined,
    ],
    [
      polled({ state: "idle", lastPollAt: ago(3_600_000) }),
      "idle Not polling",
      "The bridge polled 1 h ago. No events are waiting.",
      /still running/,
    ],
    [
      polled({ state: "degraded", lastPollAt: ago(100_000), ...waiting }),
      "warn Degraded",
      "The bridge polled 1 min ago. 2 events are waiting, the oldest for 1 min.",
      /still running/,
    ],
    [
      polled({ state: "recovered", lastPollAt: ago(2_000), recoveredAt: ago(780_000) }),
      "good Recovered",
      "Recovered 13 min ago: the bridge polls again. No events are waiting.",
      undefined,
    ],
    [
      pushed({ state: "unused" }),
      "idle Nothing pushed",
      "The log has no push. A test event shows whether the bridge is ready.",
      undefined,
    ],
    [
      pushed({ state: "failing", ...failed }),
      "bad Failing",
      "The last push failed 1 min ago: TLS failed.",
      /TLS handshake.* Then send a test event/,
    ],
    [
      pushed({ state: "degraded", ...failed }),
      "warn Degraded",
      "Some pushes fail, but the last push was accepted 2 s ago. In the last hour, 1 of 54 attempts failed. The last failure was 1 min ago: TLS failed.",
      /TLS handshake/,
    ],
    [
      pushed({ state: "degraded", lastSuccess: success, attempts: 4, successes: 4 }),
      "warn Degraded",
      "Events were dropped because the bridge is too slow, but the last push was accepted 2 s ago.",
      /answer faster/,
    ],
    [
      pushed({ state: "recovered", recoveredAt: ago(30_000), ...failed }),
      "good Recovered",
      "Recovered 30 s ago: the last push was accepted 2 s ago. In the last hour, 1 of 54 attempts failed. The last failure was 1 min ago: TLS failed.",
      undefined,
    ],
    [
      pushed({ state: "healthy", lastSuccess: success, attempts: 4, successes: 4, latencyP50Ms: 7 }),
      "good Healthy",
      "All 4 attempts in the last hour succeeded, with a median latency of 7 ms.",
      undefined,
    ],
    [
      pushed({ state: "healthy", lastSuccess: delivery({ at: ago(7_200_000) }) }),
      "good Healthy",
      "There were no pushes in the last hour, and the last push was accepted 2 h ago.",
      undefined,
    ],
  ])(
    "the words describe %j, with advice only for a fault that exists now",
    (health, words, sentence, advice) => {
      const found = healthWords(CUSTOM, health, NOW);
      expect([`${found.tone} ${found.label}`, found.sentence]).toEqual([words, sentence]);
      if (advice === undefined) expect(found.advice).toBeUndefined();
      else expect(found.advice).toMatch(advice);
    },
  );

  test("the words describe an unreadable secret and the missing key instead of the health", () => {
    const words = healthWords({ ...CUSTOM, missingKey: "0a1b2c3d" }, polled({ state: "healthy" }), NOW);
    expect(words).toMatchObject({ tone: "bad", label: "Secret unreadable" });
    expect(words.sentence).toContain("0a1b2c3d");
  });

  test.each([
    [{ ...CUSTOM, custom: false, connected: false }, "No bridge"],
    [{ ...CUSTOM, connected: false }, "Disconnected"],
    [CUSTOM, "Not known yet"],
  ])("the words describe a workspace without a known health: %j", (workspace, label) => {
    const sentence = expect.stringMatching(/\.$/) as string;
    expect(healthWords(workspace, null, NOW)).toMatchObject({ tone: "idle", label, sentence });
  });
});
