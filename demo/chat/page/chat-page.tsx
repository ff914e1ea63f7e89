import { useEffect, useRef, useState } from "preact/hooks";
import { DM_PREFIX } from "../../../contract/forms";
import { Announcer } from "./announcer";
import { BREAK_WORDS, linkWords } from "./break-words";
import { BridgePanel } from "./bridge-panel";
import type { ChatClient } from "./chat-client";
import type { ChatState } from "./chat-state";
import { Composer } from "./composer";
import { Conversations } from "./conversations";
import { useLivePost } from "./live-post";
import { Icon } from "./marks";
import { Stage } from "./stage";
import { Timeline } from "./timeline";
import { useWantedEvent } from "./wanted-event";

/** The `localStorage` key that records whether the bridge's panel is open. */
const PANEL = "bridge-panel";

export interface ChatPageProps {
  readonly state: ChatState;
  readonly client: ChatClient;
  /** Called when the member dismisses the notice of missed events. */
  onDismiss(): void;
}

/**
 * Moves the focus to a post. Browsers show a focus ring around an element that a script focuses. If the member used a
 * mouse or a finger, the ring stays hidden until the next key press.
 */
function focusPost(id: number, byPointer: boolean): void {
  const post = document.querySelector<HTMLElement>(`#post-${id}`);
  post?.classList.toggle("quiet-focus", byPointer);
  post?.addEventListener("keydown", () => post.classList.remove("quiet-focus"), { once: true });
  post?.focus();
}

export function ChatPage({ state, client, onDismiss }: ChatPageProps) {
  const { channels, posts, me, notes, link, dashboard, exchanges } = state;
  const [active, setActive] = useState(channels[0]?.id ?? "");
  /** For each conversation, the place of the last post that the member saw. */
  const [seen, setSeen] = useState<Readonly<Record<string, number>>>({});
  const [isPanelOpen, setPanelOpen] = useState(() => localStorage.getItem(PANEL) === "open");
  const wanted = useWantedEvent(() => showPanel(true));
  const panelButton = useRef<HTMLButtonElement>(null);

  const here = posts.filter(({ conversation }) => conversation === active);
  const newest = here.at(-1)?.place ?? 0;
  useEffect(() => setSeen((before) => ({ ...before, [active]: newest })), [active, newest]);
  const live = useLivePost(here);
  const isDm = active.startsWith(DM_PREFIX);
  const title = isDm ? "Games" : `#${channels.find(({ id }) => id === active)?.name ?? active}`;
  useEffect(() => {
    document.title = `${title} · Demo chat`;
  }, [title]);

  const [tone, words] = linkWords(link);
  const hint = isDm
    ? "No messages yet. Games write to you here."
    : "No messages yet. Press “Start a game” below to play, alone or with others.";

  function showPanel(isOpen: boolean): void {
    setPanelOpen(isOpen);
    localStorage.setItem(PANEL, isOpen ? "open" : "closed");
  }
  function closePanel(): void {
    showPanel(false);
    panelButton.current?.focus();
  }

  return (
    <div class={isPanelOpen ? "chat with-panel" : "chat"}>
      <Conversations state={state} active={active} seen={seen} onOpen={setActive} />
      <div class="room">
        <header class="top-bar">
          <h1>{title}</h1>
          <button
            ref={panelButton}
            type="button"
            class="button quiet-button bridge-button"
            aria-expanded={isPanelOpen}
            onClick={() => showPanel(!isPanelOpen)}
          >
            <span class={`dot ${tone}`} aria-hidden="true" />
            <span>
              Bridge<span class="link-words">: {words}</span>
              {link.broken === null && " · Break it"}
            </span>
          </button>
        </header>
        <main class="talk" aria-label={title}>
          {!state.isLive && (
            <p class="banner bad" role="alert">
              The chat's server is unavailable. This page reconnects automatically.
            </p>
          )}
          {link.broken !== null && (
            <p class="banner broken" role="status">
              <span>
                <bdi>{link.broken.by}</bdi> broke the bridge. {BREAK_WORDS[link.broken.how].state}
              </span>
              {!isPanelOpen && (
                <button
                  type="button"
                  class="button small"
                  onClick={() => void client.repair().catch(() => {})}
                >
                  Repair
                </button>
              )}
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
          <Timeline
            key={active}
            posts={live === undefined ? here : here.filter((post) => post !== live)}
            me={me}
            notes={notes}
            client={client}
            hint={live === undefined ? hint : ""}
          />
          {live !== undefined && (
            <Stage
              key={live.id}
              post={live}
              me={me}
              note={notes.get(live.id)}
              client={client}
              onFocusLost={focusPost}
            />
          )}
          <Composer
            key={`composer-${active}`}
            conversation={active}
            title={title}
            isDm={isDm}
            hasCommands={!isDm && live === undefined}
            answeredAt={posts.findLast(({ by }) => by === "service")?.place ?? 0}
            client={client}
          />
        </main>
      </div>
      {isPanelOpen && (
        <BridgePanel
          link={link}
          exchanges={exchanges}
          client={client}
          dashboard={dashboard}
          lastCommand={
            isDm || live !== undefined
              ? { channel: isDm ? (channels[0]?.id ?? "") : active, text: "help" }
              : { channel: active, text: "start" }
          }
          wanted={wanted}
          onClose={closePanel}
        />
      )}
      <Announcer posts={here} />
    </div>
  );
}
