import { useState } from "preact/hooks";
import { NAME_MAX } from "../shapes";
import { ChatError } from "./chat-client";
import { Icon } from "./icon";
import { joinAs } from "./session";

/** The form in which a member chooses a name. */
export function JoinPage({ name, why }: { readonly name: string; readonly why: string | null }) {
  const [typed, setTyped] = useState(name);
  const [fault, setFault] = useState("");
  async function enter(): Promise<void> {
    setFault("");
    try {
      await joinAs(typed);
    } catch (error) {
      setFault(error instanceof ChatError ? error.message : String(error));
    }
  }
  return (
    <main class="join">
      <form
        class="join-card"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <span class="service-mark large">
          <Icon name="bridge" />
        </span>
        <h1>Demo chat</h1>
        <p class="quiet">
          A chat with its own bridge. Open it in several tabs: each tab is a separate player.
        </p>
        {why !== null && <p role="status">{why}</p>}
        <label for="name">Your name</label>
        <input
          id="name"
          name="name"
          value={typed}
          maxLength={NAME_MAX}
          required
          autocomplete="off"
          spellcheck={false}
          aria-describedby="name-fault"
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <p id="name-fault" class="fault" role="alert">
          {fault}
        </p>
        <button type="submit" class="button primary">
          Join the chat
        </button>
      </form>
    </main>
  );
}
