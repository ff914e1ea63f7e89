import type { ComponentChildren } from "preact";
import { dmChannel } from "../../../kit/inbound-event";
import { Avatar, ServiceMark } from "./marks";
import { unreadIn, type ChatState } from "./chat-state";

export interface ConversationsProps {
  readonly state: ChatState;
  readonly active: string;
  /** For each conversation, the place of the last post that the member saw. */
  readonly seen: Readonly<Record<string, number>>;
  onOpen(conversation: string): void;
}

export function Conversations({ state, active, seen, onOpen }: ConversationsProps) {
  const { channels, me } = state;
  function entry(conversation: string, name: string, mark: ComponentChildren) {
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
  const hash = (
    <span class="hash" aria-hidden="true">
      #
    </span>
  );
  return (
    <nav class="conversations" aria-label="Conversations">
      <p class="chat-name">Demo chat</p>
      <h2>Channels</h2>
      <ul>{channels.map(({ id, name }) => entry(id, name, hash))}</ul>
      <h2>Direct messages</h2>
      <ul>{entry(dmChannel(me.id), "Games", <ServiceMark />)}</ul>
      <p class="me">
        <Avatar {...me} />
        <span>
          <span class="unseen">You are </span>
          {me.name}
        </span>
      </p>
    </nav>
  );
}
