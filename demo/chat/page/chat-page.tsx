import { useEffect, useRef, useState } from "preact/hooks";
import { DM_PREFIX, PHASE_KINDS } from "../../../bridge/contract";
import type { Post, ServicePost } from "../shapes";
import { BridgePanel, linkWords, WIDE } from "./bridge-panel";
import type { ChatClient } from "./chat-client";
import type { ChatState } from "./chat-state";
import { Composer } from "./composer";
import { Conversations } from "./conversations";
import { Icon } from "./marks";
import { plainText } from "./rich-text";
import { Timeline } from "./timeline";

export interface ChatPageProps {
  readonly state: ChatState;
  readonly client: ChatClient;
  /** Called when the member dismisses the notice of missed events. */
  onDismiss(): void;
}

export function ChatPage({ state, client, onDismiss }: ChatPageProps) {
  const { channels, posts, me, link, exchanges } = state;
  const [active, setActive] = useState(channels[0]?.id ?? "");
  /** Id of the last post that the member saw, by conversation. */
  const [seen, setSeen] = useState<Readonly<Record<string, number>>>({});
  const [replyTo, setReplyTo] = useState<number | undefined>(undefined);
  const [isPanelOpen, setPanelOpen] = useState(() => matchMedia(WIDE).matches);
  const panelButton = useRef<HTMLButtonElement>(null);

  const shown = posts.filter(({ conversation }) => conversation === active);
  const newest = shown.at(-1)?.id ?? 0;
  useEffect(() => setSeen((before) => ({ ...before, [active]: newest })), [active, newest]);
  const isDm = active.startsWith(DM_PREFIX);
  const title = isDm ? "Games" : `#${channels.find(({ id }) => id === active)?.name ?? active}`;
  useEffect(() => {
    document.title = `${title} · Demo chat`;
  }, [title]);

  const [tone, words] = linkWords(link);

  function open(conversation: string): void {
    setActive(conversation);
    setReplyTo(undefined);
  }
  function closePanel(): void {
    setPanelOpen(false);
    panelButton.current?.focus();
  }

  return (
    <div class={isPanelOpen ? "chat with-panel" : "chat"}>
      <Conversations state={state} active={active} seen={seen} onOpen={open} />
      <div class="room">
        <header class="top-bar">
          <h1>{title}</h1>
          <button
            ref={panelButton}
            type="button"
            class="button bridge-button"
            aria-expanded={isPanelOpen}
            onClick={() => setPanelOpen(!isPanelOpen)}
          >
            <span class={`dot ${tone}`} aria-hidden="true" />
            <span>
              Bridge<span class="link-words">: {words}</span>
            </span>
          </button>
        </header>
        <main class="talk" aria-label={title}>
          {!state.isLive && (
            <p class="banner bad" role="alert">
              The chat's server is unavailable. This page reconnects automatically.
            </p>
          )}
          {state.hasMissed && (
            <p class="banner" role="status">
              Some messages expired before the bridge fetched them.{" "}
              <button type="button" class="button quiet-button" aria-label="Dismiss" onClick={onDismiss}>
                <Icon name="close" />
              </button>
            </p>
          )}
          <Timeline key={active} posts={shown} me={me} client={client} onReply={setReplyTo} />
          <Composer
            key={`composer-${active}`}
            conversation={active}
            title={title}
            isDm={isDm}
            client={client}
            replied={shown.find(({ id }) => id === replyTo)}
            onReplied={(post) => setReplyTo((now) => (now === post ? undefined : now))}
          />
        </main>
      </div>
      {isPanelOpen && <BridgePanel link={link} exchanges={exchanges} client={client} onClose={closePanel} />}
      <Announcer posts={shown} />
    </div>
  );
}

/** Makes screen readers announce each new phase of a game. A `log` region announces new messages, but not edits. */
function Announcer({ posts }: { readonly posts: readonly Post[] }) {
  const said = useRef("");
  const edited = posts.findLast((post): post is ServicePost => post.by === "service" && post.edits > 0);
  if (edited !== undefined && PHASE_KINDS.some((kind) => kind === edited.message.kind)) {
    said.current = plainText(edited.message.text);
  }
  return (
    <div class="unseen" role="status" aria-live="polite">
      {said.current}
    </div>
  );
}
