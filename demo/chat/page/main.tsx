import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { clientFor, followChat, join } from "./chat-client";
import { ChatPage } from "./chat-page";
import { applyEvent, type ChatState } from "./chat-state";
import { JoinPage } from "./join-page";

const KEY = "chat-key";
const NAME = "chat-name";

/** The chat as this tab's member sees it. Each tab is a separate member, and remains that member after a reload. */
function App() {
  const [key, setKey] = useState(sessionStorage.getItem(KEY) ?? "");
  const [why, setWhy] = useState("");
  const [state, setState] = useState<ChatState | undefined>(undefined);
  const client = useMemo(() => clientFor(key), [key]);

  useEffect(() => {
    if (key === "") return undefined;
    return followChat(key, {
      onEvent: (event) => setState((before) => applyEvent(before, event)),
      onDisconnect: () => setState((before) => before && { ...before, isLive: false }),
      // Chromium also closes the stream when the page is reloaded. In this case, the key is still valid, so it stays in
      // `sessionStorage`.
      onUnknown() {
        setKey("");
        setState(undefined);
        setWhy("You are no longer a member of this chat; join again.");
      },
    });
  }, [key]);

  async function joinAs(name: string): Promise<void> {
    const joined = await join(name);
    sessionStorage.setItem(KEY, joined.key);
    sessionStorage.setItem(NAME, joined.member.name);
    setKey(joined.key);
  }

  if (key === "") return <JoinPage name={sessionStorage.getItem(NAME) ?? ""} why={why} onJoin={joinAs} />;
  if (state === undefined) {
    return (
      <p class="opening" role="status">
        Opening the chat …
      </p>
    );
  }
  return (
    <ChatPage state={state} client={client} onDismiss={() => setState({ ...state, hasMissed: false })} />
  );
}

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
