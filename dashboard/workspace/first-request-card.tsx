import type { HealthShape, WorkspaceWithSecret } from "../../proto/json/shapes";
import { CodeTabs } from "../parts/code-tabs";
import { CopyButton } from "../parts/copy-button";
import { Icon } from "../parts/icon";
import { Instant } from "../parts/instant";
import { firstRequest, LANGUAGES, secretCommand } from "../words/first-request";
import { GUIDES } from "../words/guides";
import { firstRequestAt } from "../words/next-steps";
import { useLanguage } from "./use-language";

export interface FirstRequestCardProps {
  readonly made: WorkspaceWithSecret;
  readonly health: HealthShape;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
  /** Why the service refused the newest request, if it refused it and accepted none so far. */
  readonly refusal?: string | undefined;
}

/** Shows a program that sends the first signed request, and whether such a request has arrived. */
export function FirstRequestCard({ made, health, publicUrl, refusal }: FirstRequestCardProps) {
  const { id: workspaceId, mode } = made.workspace;
  const [language, chooseLanguage] = useLanguage();
  const secret = secretCommand(made.signingSecret);
  return (
    <section class="card first-request" aria-labelledby="first-request-title">
      <h2 id="first-request-title">Send the first request</h2>
      <FirstRequestStatus at={firstRequestAt(health)} refusal={refusal} />
      <p class="hint">
        Set the secret in your shell, and run one of these programs. It sends a member's command
        {mode === "poll" && ", and fetches the events that wait"}.
      </p>
      <div class="copy-line">
        <code>{secret}</code>
        <CopyButton short text={secret} what="the line that sets the secret" />
      </div>
      <CodeTabs
        label="Language"
        tabs={LANGUAGES}
        chosen={language}
        onChoose={chooseLanguage}
        code={firstRequest(language, { publicUrl, workspaceId, mode })}
      />
      <p class="hint">
        The <a href={GUIDES.bridge}>bridge guide</a> continues from here.
      </p>
    </section>
  );
}

/** Says whether a signed request has arrived. Screen readers read out the change. */
function FirstRequestStatus({
  at,
  refusal,
}: {
  readonly at: string | null;
  readonly refusal: string | undefined;
}) {
  const state = at !== null ? "arrived" : refusal !== undefined ? "refused" : "waiting";
  return (
    <div class={`first-status is-${state}`} role="status">
      {state === "waiting" ? (
        <span class="dot" aria-hidden="true" />
      ) : (
        <Icon name={state === "arrived" ? "done" : "warn"} />
      )}
      {state === "waiting" && <span>Waiting for your bridge …</span>}
      {state === "refused" && <span>The service refused a request: {refusal}</span>}
      {at !== null && (
        <span>
          The first signed request has arrived: <Instant at={at} as="ago" />
        </span>
      )}
    </div>
  );
}
