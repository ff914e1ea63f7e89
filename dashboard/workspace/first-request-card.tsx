import type { HealthShape, RequestsShape, WorkspaceWithSecret } from "../../proto/json/shapes";
import { CodeTabs } from "../parts/code-tabs";
import { CopyButton } from "../parts/copy-button";
import { Icon } from "../parts/icon";
import { Instant } from "../parts/instant";
import { firstRequest, secretCommand } from "../words/first-request";
import { LANGUAGES } from "../words/languages";
import { GUIDES } from "../words/guides";
import { acceptedRequestAt } from "../words/next-steps";
import { refusalSentence } from "../words/refusal-sentence";
import { blockingRefusal } from "../words/request-rows";
import { useLanguage } from "./use-language";

export interface FirstRequestCardProps {
  readonly made: WorkspaceWithSecret;
  readonly health: HealthShape;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
  /** Undefined while unknown. */
  readonly requests: RequestsShape | undefined;
}

/** Shows a program that sends the first signed request, and whether such a request has arrived. */
export function FirstRequestCard({ made, health, requests, publicUrl }: FirstRequestCardProps) {
  const { id: workspaceId, mode } = made.workspace;
  const [language, chooseLanguage] = useLanguage();
  const secret = secretCommand(made.signingSecret);
  return (
    <section class="card first-request" aria-labelledby="first-request-title">
      <h2 id="first-request-title">Send the first request</h2>
      <FirstRequestStatus health={health} requests={requests} />
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

/** Says whether the service has accepted a request, or why it refused one. Screen readers announce each change. */
function FirstRequestStatus({ health, requests }: Pick<FirstRequestCardProps, "health" | "requests">) {
  const at = acceptedRequestAt(health, requests);
  const refused = blockingRefusal(requests);
  if (at !== null) {
    return (
      <div class="first-status is-arrived" role="status">
        <Icon name="done" />
        <span>
          The first signed request has arrived: <Instant at={at} as="ago" />
        </span>
      </div>
    );
  }
  if (refused !== undefined) {
    return (
      <div class="first-status is-refused" role="status">
        <Icon name="warn" />
        <span>
          The last request was refused with <bdi>{refusalSentence(refused)}</bdi>
        </span>
      </div>
    );
  }
  return (
    <div class="first-status is-waiting" role="status">
      <span class="dot" aria-hidden="true" />
      <span>Waiting for your bridge …</span>
    </div>
  );
}
