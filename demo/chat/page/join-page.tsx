import { useState } from "preact/hooks";
import { NAME_MAX } from "../shapes";
import { Icon } from "./marks";
import { useRequest } from "./use-request";

export interface JoinPageProps {
  readonly name: string;
  /** Why the member must join again; empty at first. */
  readonly why: string;
  onJoin(name: string): Promise<void>;
}

/** The form in which a member chooses a name. */
export function JoinPage({ name, why, onJoin }: JoinPageProps) {
  const [typed, setTyped] = useState(name);
  const { fault, send } = useRequest();
  return (
    <main class="join">
      <form
        class="join-card"
        onSubmit={(event) => {
          event.preventDefault();
          void send(() => onJoin(typed));
        }}
      >
        <span class="service-mark large">
          <Icon name="bridge" />
        </span>
        <h1>Demo chat</h1>
        <p class="quiet">
          A chat with its own bridge. Open it in several tabs: each tab is a separate player.
        </p>
        {why !== "" && <p role="status">{why}</p>}
        <label for="name">Your name</label>
        <input
          id="name"
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
