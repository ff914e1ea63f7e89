import type { ComponentChildren } from "preact";
import type { EventAttemptShape, EventShape } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { Icon, type IconName } from "../parts/icon";
import { Instant } from "../parts/instant";
import { adviceFor } from "../words/advice";
import { timelineOf, type TimelineStep } from "../words/event-timeline";
import { attemptWords } from "../words/send-again-words";
import { BridgeResponse } from "../workspace/bridge-response";
import { OutcomeBadge } from "../workspace/outcome-badge";

/** Shows what happened to an event, oldest first. New attempts appear live. */
export function TimelineCard({ event }: { readonly event: EventShape }) {
  const now = useNow(1_000);
  return (
    <section class="card" aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      <ol class="steps timeline" aria-live="polite">
        {timelineOf(event).map((step) => (
          <Step key={keyOf(step)} step={step} isOver={Date.parse(step.at) <= now} />
        ))}
      </ol>
    </section>
  );
}

function keyOf(step: TimelineStep): string {
  return `${step.is} ${step.is === "attempt" ? step.attempt.delivery.id : step.at}`;
}

function Step({ step, isOver }: { readonly step: TimelineStep; readonly isOver: boolean }) {
  switch (step.is) {
    case "published":
      return (
        <Line look="done" icon="push" at={step.at}>
          Published{step.by !== "" && <By name={step.by} />}
        </Line>
      );
    case "sent-again":
      return (
        <Line look="done" icon="push" at={step.at}>
          Sent again{step.by !== "" && <By name={step.by} />}
        </Line>
      );
    case "expires":
      return (
        <Line look="not-reached" icon="off" at={step.at}>
          {isOver ? "Expired" : "Expires"}
        </Line>
      );
    case "attempt":
      return <AttemptLine attempt={step.attempt} />;
  }
}

/** Shows the name of a token. The name is isolated, because an operator chose it. */
function By({ name }: { readonly name: string }) {
  return (
    <>
      {" by "}
      <bdi>
        <strong>{name}</strong>
      </bdi>
    </>
  );
}

function AttemptLine({ attempt: { delivery, response } }: { readonly attempt: EventAttemptShape }) {
  const isGood = delivery.polls > 0 || delivery.result === "success";
  const advice = adviceFor(delivery);
  const hasDetails = !isGood && (advice !== undefined || response !== null);
  return (
    <Line look={isGood ? "done" : "failed"} icon={isGood ? "done" : "off"} at={delivery.at}>
      <OutcomeBadge delivery={delivery} />{" "}
      {delivery.polls > 0 ? (
        "A poll returned the event"
      ) : (
        <span class="quiet">
          {attemptWords(delivery)}
          {delivery.attempt > 0 && `, ${delivery.latencyMs} ms`}
          {delivery.address !== "" && (
            <>
              , at <code>{delivery.address}</code>
            </>
          )}
        </span>
      )}
      {hasDetails && (
        <div class="step-todo">
          {advice !== undefined && <p>{advice}</p>}
          {delivery.status !== 0 && <BridgeResponse response={response} at={delivery.at} />}
        </div>
      )}
    </Line>
  );
}

interface LineProps {
  readonly look: "done" | "failed" | "not-reached";
  readonly icon: IconName;
  readonly at: string;
  readonly children: ComponentChildren;
}

function Line({ look, icon, at, children }: LineProps) {
  return (
    <li class={look}>
      <span class="step-mark">
        <Icon name={icon} />
      </span>
      <div class="step-words">
        <span class="timeline-when">
          <Instant at={at} as="ms" />
        </span>{" "}
        {children}
      </div>
    </li>
  );
}
