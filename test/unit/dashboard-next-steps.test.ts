import { POLLS_LOGGED_MAX } from "../../contract/deliveries";
import {
  checkCommand,
  isInUse,
  nextSteps,
  showsNextSteps,
  type Ticks,
} from "../../dashboard/words/next-steps";
import type { DeliveryShape, HealthShape, PollHealthShape, PushHealthShape } from "../../proto/json/shapes";
import { ago, delivery, NOW } from "./dashboard-delivery";

const NONE: Ticks = { stored: false, checked: false };
const COMMON = { state: "unused", recoveredAt: null, firstPostAt: null } as const;
const poll = (more: Partial<PollHealthShape> = {}): HealthShape => ({
  mode: "poll",
  ...COMMON,
  failing: false,
  failingSince: null,
  lastPollAt: null,
  waiting: 0,
  oldestWaitingAt: null,
  eventsRefusedAt: null,
  ...more,
});
const push = (more: Partial<PushHealthShape> = {}): HealthShape => ({
  mode: "push",
  ...COMMON,
  lastSuccess: null,
  lastFailure: null,
  attempts: 0,
  successes: 0,
  latencyP50Ms: 0,
  latencyP95Ms: 0,
  latencyP99Ms: 0,
  ...more,
});

test.each<[string, HealthShape, Partial<Ticks>, string]>([
  ["at first, no step", poll(), {}, ""],
  ["after a tick, that step", poll(), { stored: true }, "secret"],
  // The bridge needs the secret to sign.
  ["after a signed POST", poll({ firstPostAt: ago(1) }), {}, "secret request"],
  ["after a poll", poll({ lastPollAt: ago(1) }), {}, "secret request delivery"],
  ["after an accepted push", push({ lastSuccess: delivery() }), {}, "delivery"],
  ["after a failed push", push({ lastFailure: delivery({ result: "dns" }) }), {}, ""],
  [
    "after everything",
    push({ lastSuccess: delivery(), firstPostAt: ago(1) }),
    { checked: true },
    "secret request delivery check",
  ],
])("the steps that are done: %s", (_when, health, ticks, done) => {
  const steps = nextSteps(health, { ...NONE, ...ticks });
  expect(steps.flatMap((step) => (step.done ? [step.is] : [])).join(" ")).toBe(done);
});

const DAY = 24 * 3_600_000;
const workspace = { custom: true, connected: true, createdAt: ago(DAY) };
const polls = poll({ lastPollAt: ago(1) });

test.each<[string, Parameters<typeof showsNextSteps>, boolean]>([
  ["a new workspace", [workspace, poll(), NONE, false, NOW], true],
  ["a disconnected workspace", [{ ...workspace, connected: false }, null, NONE, true, NOW], false],
  ["a workspace whose bridge polls", [workspace, polls, NONE, false, NOW], false],
  ["a workspace connected here, before the check", [workspace, polls, NONE, true, NOW], true],
  [
    "a workspace connected here, after the check",
    [workspace, polls, { ...NONE, checked: true }, true, NOW],
    false,
  ],
  [
    "an old workspace of an unknown bridge",
    [{ ...workspace, createdAt: ago(99 * DAY) }, poll(), NONE, false, NOW],
    true,
  ],
  [
    "an old workspace without pushes in the log",
    [{ ...workspace, createdAt: ago(8 * DAY) }, push({ firstPostAt: ago(1) }), NONE, true, NOW],
    false,
  ],
  ["a new workspace whose bridge is in use", [workspace, poll(), NONE, true, NOW, true], false],
])("the steps are shown until all are done or the bridge is in use: %s", (_what, facts, isShown) => {
  expect(showsNextSteps(...facts)).toBe(isShown);
});

const HOUR = 3_600_000;
const failed = delivery({ result: "status", status: 503, at: ago(5 * HOUR) });
const accepted = (ms: number) => delivery({ at: ago(ms) });
const polled = (ms: number, events = 0) => delivery({ at: ago(ms), eventType: "poll", polls: 1, events });

test.each<[string, readonly DeliveryShape[], boolean]>([
  ["nothing happened", [], false],
  ["no push was accepted", [failed], false],
  ["the first push was accepted less than an hour ago", [accepted(HOUR - 1), failed], false],
  ["the first push was accepted an hour ago", [delivery(), accepted(HOUR)], true],
  ["the bridge polled for the first time an hour ago", [polled(1), polled(HOUR)], true],
  ["the bridge has fetched 25 events", [polled(1, 20), polled(2, 5)], false],
  ["the bridge has fetched 26 events", [polled(1, 20), polled(2, 6)], true],
  ["the bridge has accepted 26 pushes", Array.from({ length: 26 }, () => delivery()), true],
  [
    "the log is full, so its beginning is lost",
    Array.from({ length: POLLS_LOGGED_MAX }, () => polled(1)),
    true,
  ],
])("whether a bridge is in use: %s", (_what, log, isUsed) => {
  expect(isInUse(log, NOW)).toBe(isUsed);
});

test("the suggested command checks a bridge in the workspace's delivery mode, and quotes the target URL safely", () => {
  expect(checkCommand({ mode: "poll", targetUrl: "" })).toBe(
    "SIGNING_SECRET=… npm run check-bridge -- --poll",
  );
  expect(checkCommand({ mode: "push", targetUrl: "https://b.example/'; ls" })).toBe(
    "SIGNING_SECRET=… npm run check-bridge -- --url 'https://b.example/%27; ls'",
  );
});
