import { useEffect, useState } from "preact/hooks";
import { ATTEMPT_STEPS, type AttemptStep } from "../../contract/deliveries";
import type { HealthShape, TestOutcome, WorkspaceShape } from "../../proto/json/shapes";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { Icon } from "../parts/icon";
import { Instant } from "../parts/instant";
import { ErrorNotice, Notice } from "../parts/notice";
import { useAction } from "../use-action";
import { adviceFor } from "../words/advice";
import type { Liveness } from "./workspace-watch";

const STEP_WORDS: Readonly<Record<AttemptStep, string>> = {
  name: "Name looked up",
  address: "Address is allowed",
  connect: "Connected",
  tls: "TLS established",
  send: "Signed event sent",
  status: "Answered 2xx",
};

export interface TestEventCardProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  readonly liveness: Liveness;
}

/**
 * Sends a ping, and shows the outcome and, for a push, every step. An outdated outcome is marked as outdated, and shown
 * without advice: like the health card, this card gives advice only about a current fault.
 */
export function TestEventCard({ workspace: { id, mode, targetUrl }, health, liveness }: TestEventCardProps) {
  const [outcome, setOutcome] = useState<TestOutcome | undefined>(undefined);
  // When the target URL has changed, the shown outcome no longer applies.
  useEffect(() => setOutcome(undefined), [targetUrl]);
  const sending = useAction(async () => {
    setOutcome(undefined);
    setOutcome(await api.sendTestEvent(id));
  });
  // When the page is live again, the log shows whether the ping was sent, so the error is removed.
  useEffect(() => {
    if (liveness === "live" && sending.error?.isUnanswered) sending.clear();
  }, [liveness]);
  return (
    <section class="card test-event" aria-labelledby="test-title">
      <h2 id="test-title">Test event</h2>
      <p class="hint">
        {mode === "push"
          ? "Pushes a ping immediately, and shows every step."
          : "Holds a ping for the next poll, and shows whether the bridge polls."}
      </p>
      <ActionButton look="primary" pending={sending.pending} onClick={() => sending.run()}>
        Send test event
      </ActionButton>
      <ErrorNotice error={sending.error} />
      <div role="status">
        {sending.pending && mode === "push" && <p class="loading">Pushing; this takes up to 5 seconds …</p>}
        {outcome?.mode === "poll" && <PollOutcome outcome={outcome} health={health} />}
        {outcome?.mode === "push" && <PushOutcome outcome={outcome} health={health} />}
      </div>
    </section>
  );
}

type Of<Mode> = {
  readonly outcome: Extract<TestOutcome, { mode: Mode }>;
  readonly health: HealthShape;
};

function PollOutcome({ outcome, health }: Of<"poll">) {
  const polledAt = health?.mode === "poll" ? health.lastPollAt : null;
  const hasPolledSince = polledAt !== null && polledAt > (outcome.lastPollAt ?? "");
  const lastPollAt = hasPolledSince ? polledAt : outcome.lastPollAt;
  const isPolling = hasPolledSince || outcome.polledWithinLastMinute;
  return (
    <Notice tone={isPolling ? "good" : "warn"}>
      {isPolling
        ? "The ping is held, and the bridge polls. Last poll: "
        : "The ping is held, but the bridge has not polled within the last minute. Last poll: "}
      {lastPollAt === null ? "never" : <Instant at={lastPollAt} as="ago" />}
    </Notice>
  );
}

function PushOutcome({ outcome: { steps, failedStep, failure, delivery }, health }: Of<"push">) {
  const push = health?.mode === "push" ? health : undefined;
  const later = failedStep === null ? push?.lastFailure : push?.lastSuccess;
  const isOutdated = (later?.at ?? "") > delivery.at;
  const failedAt = failedStep === null ? ATTEMPT_STEPS.length : ATTEMPT_STEPS.indexOf(failedStep);
  return (
    <>
      <ol class="steps">
        {ATTEMPT_STEPS.map((step, at) => {
          const done = steps.find((each) => each.step === step);
          const state =
            at === failedAt ? "failed" : at < failedAt && done !== undefined ? "done" : "not-reached";
          return (
            <li key={step} class={state}>
              <span class="step-mark">
                <Icon name={state === "done" ? "done" : "off"} />
              </span>
              <span class="step-words">
                {STEP_WORDS[step]}
                <span class="unseen">
                  {{ done: ": done", failed: ": failed", "not-reached": ": not reached" }[state]}
                </span>
                {state === "failed" && <span class="under">{failure}</span>}
                {state === "done" && done !== undefined && <span class="under">{done.detail}</span>}
              </span>
              {done !== undefined && state !== "not-reached" && (
                <span class="step-time">{done.afterMs} ms</span>
              )}
            </li>
          );
        })}
      </ol>
      <p class="hint">
        Tested <Instant at={delivery.at} as="ago" />.
      </p>
      <Notice tone={failedStep === null ? (isOutdated ? "warn" : "good") : isOutdated ? "good" : "bad"}>
        {failedStep === null
          ? `The bridge answered with ${delivery.status} after ${delivery.latencyMs} ms.`
          : !isOutdated && adviceFor(delivery, failedStep)}
        {isOutdated &&
          (failedStep === null
            ? " A later push failed: see Health."
            : "The bridge has accepted a push since this test.")}
      </Notice>
    </>
  );
}
