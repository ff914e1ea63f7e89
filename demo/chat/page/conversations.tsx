import { unreadIn, type ChatState } from "./chat-state";
import { Avatar, ServiceMark } from "./avatar";

export interface ConversationsProps {
  readonly state: ChatState;
  readonly active: string;
  /** Id of the last post seen, by conversation. */
  readonly seen: Readonly<Record<string, number>>;
  onOpen(conversation: string): void;
}

export function Conversations({ state, active, seen, onOpen }: ConversationsProps) {
  const { channels, me } = state;
  function entry(conversation: string, name: string, mark: preact.ComponentChildren) {
    const unread = conversation === active ? 0 : unreadIn(state, conversation, seen[conversation] ?? 0);
    return (
      <li key={conversation}>
        <button
          type="button"
          class="conversation"
          aria-current={conversation === active ? "page" : undefined}
          onClick={() => onOpen(conversation)}
        >
          {mark}
          <span class="conversation-name">{name}</span>
          {unread > 0 && (
            <span class="unread">
              {unread}
              <span class="unseen"> new</span>
            </span>
          )}
        </button>
      </li>
    );
  }
  return (
    <nav class="conversations" aria-label="Conversations">
      <p class="chat-name">Demo chat</p>
      <h2>Channels</h2>
      <ul>
        {channels.map(({ id, name }) =>
          entry(
            id,
            name,
            <span class="hash" aria-hidden="true">
              #
            </span>,
          ),
        )}
      </ul>
      <h2>Direct messages</h2>
      <ul>{entry(`dm:${me.id}`, "Games", <ServiceMark />)}</ul>
      <p class="me">
        <Avatar id={me.id} name={me.name} />
        <span>
          <span class="unseen">You are </span>
          {me.name}
        </span>
      </p>
    </nav>
  );
}
