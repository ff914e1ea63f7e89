import type { ComponentChildren } from "preact";
import { RESULT_MEANINGS } from "../../contract/deliveries";
import type { HealthShape, WorkspaceShape } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { Instant } from "../parts/instant";
import { healthWords } from "../words/health-words";

export interface HealthCardProps {
  readonly workspace: WorkspaceShape;
  readonly health: HealthShape;
  /** Whether the health may be outdated. If so, the card does not show the colour of the state. */
  readonly isStale: boolean;
}

/** Shows the workspace's health, advice if there is any, and the figures of polling or pushing. */
export function HealthCard({ workspace, health, isStale }: HealthCardProps) {
  const { tone, label, sentence, advice } = healthWords(workspace, health, useNow());
  return (
    <section class={`card health tone-${tone}${isStale ? " is-stale" : ""}`} aria-labelledby="health-title">
      <div class="health-words">
        <h2 id="health-title" class="unseen">
          Health
        </h2>
        {/* Not a `status` element: screen readers would announce the sentence whenever a time in it changes. */}
        <p class="health-label" role="status">
          {label}
        </p>
        <p class="health-sentence">{sentence}</p>
        {advice !== undefined && (
          <p class="health-advice">
            <strong>What to do:</strong> {advice}
          </p>
        )}
      </div>
      {health !== null && (
        <dl class="figures">
          {health.mode === "poll" ? <PollFigures health={health} /> : <PushFigures health={health} />}
        </dl>
      )}
    </section>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type Of<Mode> = { readonly health: Extract<HealthShape, { mode: Mode }> };

function PollFigures({ health }: Of<"poll">) {
  const { waiting, oldestWaitingAt, lastPollAt, failingSince, eventsRefusedAt } = health;
  return (
    <>
      <Figure name="Events waiting">{waiting >= 1_000 ? "1,000 or more" : waiting}</Figure>
      <Figure name="Oldest waiting since">
        {oldestWaitingAt === null ? "none" : <Instant at={oldestWaitingAt} as="ago" />}
      </Figure>
      <Figure name="Last poll">{lastPollAt === null ? "never" : <Instant at={lastPollAt} as="ago" />}</Figure>
      {failingSince !== null && (
        <Figure name="Failing since">
          <Instant at={failingSince} as="ago" />
        </Figure>
      )}
      {eventsRefusedAt !== null && (
        <Figure name="Event refused, too many bytes held">
          <Instant at={eventsRefusedAt} as="ago" />
        </Figure>
      )}
    </>
  );
}

function PushFigures({ health }: Of<"push">) {
  const { attempts, successes, lastSuccess, lastFailure, latencyP50Ms, latencyP95Ms, latencyP99Ms } = health;
  return (
    <>
      <Figure name="Pushes accepted, last hour">
        {attempts === 0 ? "no pushes" : `${successes} of ${attempts}`}
      </Figure>
      <Figure name="Latency p50 / p95 / p99">
        {successes === 0 ? "not known" : `${latencyP50Ms} / ${latencyP95Ms} / ${latencyP99Ms} ms`}
      </Figure>
      <Figure name="Last accepted push">
        {lastSuccess === null ? "never" : <Instant at={lastSuccess.at} as="ago" />}
      </Figure>
      <Figure name="Last failed push">
        {lastFailure === null ? (
          "never"
        ) : (
          <>
            <Instant at={lastFailure.at} as="ago" />{" "}
            <span class="quiet">{RESULT_MEANINGS[lastFailure.result].words}</span>
          </>
        )}
      </Figure>
    </>
  );
}
