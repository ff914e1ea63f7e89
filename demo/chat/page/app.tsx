import { useEffect } from "preact/hooks";
import { useStore } from "../../../dashboard/store";
import { ChatPage } from "./chat-page";
import { JoinPage } from "./join-page";
import { chatState, resume, session } from "./session";

export function App() {
  const who = useStore(session);
  const state = useStore(chatState);
  useEffect(resume, []);
  if (who.is === "out") return <JoinPage name={who.name} why={who.why} />;
  if (state === undefined) {
    return (
      <p class="opening" role="status">
        Opening the chat …
      </p>
    );
  }
  return <ChatPage state={state} client={who.client} />;
}
