import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { WorkspaceWithSecret } from "../../proto/json/shapes";
import { snippetFor, snippetsFor, type SnippetName } from "../words/snippets";
import { CopyButton } from "./copy-button";
import { Notice } from "./notice";

export interface SecretCardProps {
  readonly made: WorkspaceWithSecret;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
  /**
   * Whether the card appears on a page that is already open. The card's title then gets the focus, so the browser
   * scrolls to the card.
   */
  readonly comesUp?: boolean;
  /** The button with which the user continues, if any. */
  readonly children?: ComponentChildren;
}

/** Shows a new signing secret, which is never shown again, and the settings for the bridge. */
export function SecretCard({
  made: { workspace, signingSecret },
  publicUrl,
  comesUp = false,
  children,
}: SecretCardProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (comesUp) heading.current?.focus();
  }, [signingSecret]);
  const [shown, setShown] = useState<SnippetName>("settings");
  const facts = { publicUrl, workspaceId: workspace.id, secret: signingSecret };
  const snippet = snippetFor(shown, facts);
  return (
    <section class="card secret" aria-labelledby="secret-title">
      <h2 id="secret-title" ref={heading} tabIndex={-1}>
        Signing secret
      </h2>
      <Notice tone="warn">
        Store the secret now: it is not shown again. If you lose the secret, rotate it.
      </Notice>
      <div class="secret-line">
        <code data-secret>{signingSecret}</code>
        <CopyButton text={signingSecret} what="the signing secret" />
      </div>
      <h3>For the bridge</h3>
      <div class="row tabs" role="group" aria-label="What to copy">
        {snippetsFor(workspace.mode).map(({ name, label }) => (
          <button
            type="button"
            key={name}
            class="tab"
            aria-pressed={name === shown}
            onClick={() => setShown(name)}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="snippet">
        <pre tabIndex={0} aria-label="What to copy">
          <code>{snippet}</code>
        </pre>
        <CopyButton text={snippet} what="this text" />
      </div>
      {children !== undefined && <div class="row">{children}</div>}
    </section>
  );
}
