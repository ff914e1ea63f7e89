import { useEffect, useRef, useState } from "preact/hooks";
import { Announcer } from "./announcer";
import { BridgePanel, WIDE } from "./bridge-panel";
import type { ChatClient } from "./chat-client";
import type { ChatState } from "./chat-state";
import { Composer } from "./composer";
import { Conversations } from "./conversations";
import { Icon } from "./icon";
import { linkWords } from "./link-words";
import { dismissNotice } from "./session";
import { Timeline } from "./timeline";
import { TopBar } from "./top-bar";

export interface ChatPageProps {
  readonly state: ChatState;
  readonly client: ChatClient;
}

export function ChatPage({ state, client }: ChatPageProps) {
  const { channels, posts, me, link, isLive, notice } = state;
  const [active, setActive] = useState(channels[0]?.id ?? "");
  const [seen, setSeen] = useState<Readonly<Record<string, number>>>({});
  const [replyTo, setReplyTo] = useState<number | undefined>(undefined);
  const [isPanelOpen, setPanelOpen] = useState(() => matchMedia(WIDE).matches);
  const shown = posts.filter(({ conversation }) => conversation === active);
  const newest = shown.at(-1)?.id ?? 0;
  useEffect(() => setSeen((before) => ({ ...before, [active]: newest })), [active, newest]);
  const isDm = active === `dm:${me.id}`;
  const title = isDm ? "Games" : `#${channels.find(({ id }) => id === active)?.name ?? active}`;
  useEffect(() => {
    document.title = `${title} · Demo chat`;
  }, [title]);

  const panelButton = useRef<HTMLButtonElement>(null);
  function closePanel(): void {
    setPanelOpen(false);
    panelButton.current?.focus();
  }
  function open(conversation: string): void {
    setActive(conversation);
    setReplyTo(undefined);
  }

  return (
    <div class={isPanelOpen ? "chat with-panel" : "chat"}>
      <Conversations state={state} active={active} seen={seen} onOpen={open} />
      <div class="room">
        <TopBar
          title={title}
          members={isDm ? [] : state.members}
          me={me}
          words={linkWords(link)}
          isPanelOpen={isPanelOpen}
          panelButton={panelButton}
          onPanel={() => setPanelOpen(!isPanelOpen)}
        />
        <main class="talk" aria-label={title}>
          {!isLive && (
            <p class="banner bad" role="alert">
              The chat's server is unavailable. This page reconnects automatically.
            </p>
          )}
          {notice !== null && (
            <p class="banner" role="status">
              {notice}{" "}
              <button type="button" class="button quiet-button" aria-label="Dismiss" onClick={dismissNotice}>
                <Icon name="close" />
              </button>
            </p>
          )}
          <Timeline
            key={active}
            posts={shown}
            all={posts}
            state={state}
            client={client}
            onReply={(post) => setReplyTo(post)}
          />
          <Composer
            key={`composer-${active}`}
            conversation={active}
            title={title}
            isDm={isDm}
            client={client}
            replied={posts.find(({ id }) => id === replyTo)}
            onReplied={(post) => setReplyTo((now) => (now === post ? undefined : now))}
          />
        </main>
      </div>
      {isPanelOpen && (
        <BridgePanel link={link} exchanges={state.exchanges} client={client} onClose={closePanel} />
      )}
      <Announcer conversation={active} />
    </div>
  );
}
