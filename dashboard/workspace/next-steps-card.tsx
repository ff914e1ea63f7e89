import type { ComponentChildren } from "preact";
import type { HealthShape, RequestsShape, WorkspaceShape } from "../../proto/json/shapes";
import { ActionButton } from "../parts/action-button";
import { CopyButton } from "../parts/copy-button";
import { Icon } from "../parts/icon";
import { Instant } from "../parts/instant";
import { GUIDES } from "../words/guides";
import { blockingRefusal } from "../words/request-rows";
import { refusalSentence } from "../words/refusal-sentence";
import { checkCommand, nextSteps, type Step } from "../words/next-steps";
import type { UsedTicks } from "./use-ticks";

export interface NextStepsCardProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  readonly requests: RequestsShape | undefined;
  readonly used: UsedTicks;
}

/**
 * Shows the steps to connect the bridge. A step that the service detects is marked as done without a reload.
 */
export function NextStepsCard({ workspace, health, requests, used: { ticks, tick } }: NextStepsCardProps) {
  const refused = blockingRefusal(requests);
  const steps = nextSteps(health, ticks, requests);
  const done = steps.filter((step) => step.done).length;
  const command = checkCommand(workspace);
  const isPush = workspace.mode === "push";
  const about: Readonly<Record<Step["is"], { title: string; todo: ComponentChildren }>> = {
    secret: {
      title: "Store the signing secret",
      todo: <ActionButton onClick={() => tick("stored")}>I have stored the secret</ActionButton>,
    },
    request: {
      title: "The bridge sends a signed request",
      todo: refused ? (
        <p role="status">
          The last request was refused with <bdi>{refusalSentence(refused)}</bdi>
        </p>
      ) : (
        <p>
          Waiting for the first signed request. The <a href={GUIDES.bridge}>bridge guide</a> and the{" "}
          <a href={GUIDES.api}>API reference</a> show how to sign.
        </p>
      ),
    },
    delivery: isPush
      ? {
          title: "The bridge accepts a push",
          todo: <p>Waiting for the first 2xx answer. Send a test event.</p>,
        }
      : { title: "The bridge polls", todo: <p>Waiting for the first poll.</p> },
    check: {
      title: "Check the bridge against the contract",
      todo: (
        <>
          <p>Run this command in a checkout of the service:</p>
          <div class="copy-line">
            <code>{command}</code>
            <CopyButton short text={command} what="the command" />
          </div>
          <ActionButton onClick={() => tick("checked")}>The check has passed</ActionButton>
        </>
      ),
    },
  };
  return (
    <section class="card next-steps" aria-labelledby="next-title">
      <div class="card-heading">
        <h2 id="next-title">What to do next</h2>
        <span class="quiet" role="status">
          {done} of {steps.length} done
        </span>
      </div>
      <ol class="steps-todo">
        {steps.map(({ is, done: isDone, at }) => (
          <li key={is} class={isDone ? "done" : "open"}>
            <span class="step-mark">{isDone && <Icon name="done" />}</span>
            <div class="step-words">
              {about[is].title}
              <span class="unseen">{isDone ? ": done" : ": not done yet"}</span>
              {isDone && at !== null && (
                <span class="under">
                  <Instant at={at} as="ago" />
                </span>
              )}
              {!isDone && <div class="step-todo">{about[is].todo}</div>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
