import { useEffect, useState } from "preact/hooks";
import { ATTEMPT_STEPS, type AttemptStep } from "../../contract/deliveries";
import type { TestOutcome, WorkspaceShape } from "../../edge/dashboard/shapes";
import { api } from "../api";
import { ActionButton } from "../parts/action-button";
import { FormFault } from "../parts/field";
import { Icon } from "../parts/icon";
import { Instant } from "../parts/instant";
import { useAction } from "../use-action";
import { adviceFor } from "../words/advice";

const STEP_WORDS: Readonly<Record<AttemptStep, string>> = {
  name: "Name looked up",
  address: "Address is public",
  connect: "Connected",
  tls: "TLS established",
  send: "Signed event sent",
  status: "Answered 2xx",
};

/** Sends a ping, and shows the outcome and, for a push, every step. */
export function TestEventCard({
  workspace: { id, mode, targetUrl },
}: {
  readonly workspace: WorkspaceShape;
}) {
  const [outcome, setOutcome] = useState<TestOutcome | undefined>(undefined);
  // When the target URL has changed, the shown outcome no longer applies.
  useEffect(() => setOutcome(undefined), [targetUrl]);
  const sending = useAction(async () => {
    setOutcome(undefined);
    setOutcome(await api.sendTestEvent(id));
  });
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
      <FormFault error={sending.error} />
      <div role="status">
        {sending.pending && mode === "push" && <p class="loading">Pushing; this takes up to 5 seconds …</p>}
        {outcome?.mode === "poll" && <PollOutcome outcome={outcome} />}
        {outcome?.mode === "push" && <PushOutcome outcome={outcome} />}
      </div>
    </section>
  );
}

type Of<Mode> = { readonly outcome: Extract<TestOutcome, { mode: Mode }> };

function PollOutcome({ outcome: { polledWithinLastMinute, lastPollAt } }: Of<"poll">) {
  return (
    <p class={`notice tone-${polledWithinLastMinute ? "good" : "warn"}`}>
      {polledWithinLastMinute
        ? "The ping is held, and the bridge polls. Last poll: "
        : "The ping is held, but the bridge has not polled within the last minute. Last poll: "}
      {lastPollAt === null ? "never" : <Instant at={lastPollAt} as="ago" />}
    </p>
  );
}

function PushOutcome({ outcome: { steps, failedStep, failure, delivery } }: Of<"push">) {
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
      <p class={`notice tone-${failedStep === null ? "good" : "bad"}`}>
        {failedStep === null
          ? `The bridge answered with ${delivery.status} after ${delivery.latencyMs} ms.`
          : adviceFor(delivery, failedStep)}
      </p>
    </>
  );
}
