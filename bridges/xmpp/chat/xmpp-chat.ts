import {
  CannotShow,
  choiceLines,
  toMarkdown,
  type BridgeChat,
  type DmCreate,
  type Message,
  type MessageCreate,
  type MessageEphemeral,
  type ShownMessage,
  type ShownUpdate,
} from "chat-bridge-kit";
import { Room } from "../rooms/room";
import type { Rooms } from "../rooms/rooms";
import type { Accounts } from "./accounts";

export interface XmppChatOptions {
  readonly rooms: Pick<Rooms, "get" | "find">;
  readonly accounts: Pick<Accounts, "send">;
  /** The prefix of typed choices in rooms. */
  readonly prefix: string;
  readonly hasNewQuestions: boolean;
  /** Returns the message that the chat shows under an id: see `Bridge.shown`. */
  shown(chatMessageId: string): ShownMessage | undefined;
}

/** Maximum bytes of a text. Servers allow stanzas of at least 64 KB. */
const TEXT_MAX_BYTES = 16_000;
/** Updates of these kinds are posted as new messages, so that members do not miss them above later lines. */
const POSTED_AGAIN = new Set(["question", "gotcha_bait", "game_end"]);
const DM = "dm:";
const ACCOUNT = "jid:";

/**
 * Shows the service's messages in rooms. The id of a message in the chat is the id of the event. After a crash, the
 * bridge therefore finds its messages in the room's history, and does not send them twice.
 */
export class XmppChat implements BridgeChat {
  readonly #options: XmppChatOptions;

  constructor(options: XmppChatOptions) {
    this.#options = options;
  }

  async post({ id, channel, message }: MessageCreate, signal: AbortSignal): Promise<string> {
    await this.#room(channel).post(id, this.#text(message), signal);
    return id;
  }

  async dm({ id, user, message }: DmCreate, signal: AbortSignal): Promise<string> {
    await this.#sendTo(user, id, messageText(message, ""), signal);
    return id;
  }

  async ephemeral(event: MessageEphemeral, signal: AbortSignal): Promise<string> {
    const { id, channel, user, message } = event;
    const room = this.#room(channel);
    const nick = room.occupants.nickOf(user);
    if (nick === undefined) return this.dm({ ...event, type: "dm.create" }, signal);
    await room.whisper(id, nick, this.#text(message), signal);
    return id;
  }

  /** Corrects the newest message that shows the game. A correction has its own id, which the bridge does not need. */
  async update(event: ShownUpdate, signal: AbortSignal): Promise<string | void> {
    const { id, channel, message, chatMessageIds } = event;
    const newest = chatMessageIds.at(-1);
    if (channel.startsWith(DM)) {
      return this.#sendTo(channel.slice(DM.length), id, messageText(message, ""), signal, newest);
    }
    const room = this.#room(channel);
    // The update waits until the bridge has joined the room again, because a refused update would be dropped.
    await room.untilJoined(signal);
    const isNew = this.#options.hasNewQuestions && POSTED_AGAIN.has(message.kind);
    await room.post(id, this.#text(message), signal, isNew ? undefined : newest);
    if (!isNew) return undefined;
    await this.#close(room, event, newest, signal);
    return id;
  }

  /** Removes the choices of the message that a new message replaces, because members can no longer choose them. */
  async #close(
    room: Room,
    event: ShownUpdate,
    newest: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const before = this.#options.shown(event.chatMessageId)?.message;
    if (before === undefined || !before.buttons.flat().some((button) => "action" in button)) return;
    const buttons = before.buttons.map((row) => row.filter((button) => !("action" in button)));
    const text = this.#text({ ...before, buttons });
    // The new message is already shown, so the update must not fail if the correction fails.
    await room.post(`${event.id}-closed`, text, signal, newest).catch(() => undefined);
  }

  #room(channel: string): Room {
    const room = this.#options.rooms.get(channel);
    if (room === undefined) throw new CannotShow("the bridge is not configured to join the room");
    return room;
  }

  #text(message: Message): string {
    return messageText(message, this.#options.prefix);
  }

  /** Sends a private text to the member's account, or in a room if the account is unknown. */
  async #sendTo(
    user: string,
    id: string,
    text: string,
    signal: AbortSignal,
    replaces?: string,
  ): Promise<void> {
    const { rooms, accounts } = this.#options;
    if (user.startsWith(ACCOUNT)) {
      return accounts.send({ id, to: user.slice(ACCOUNT.length), text, replaces }, signal);
    }
    const found = rooms.find(user);
    if (found === undefined) throw new CannotShow("the member is not in a room of the bridge");
    await found.room.whisper(id, found.nick, text, signal, replaces);
  }
}

/** Returns a message as text: the text with message styling, the address of the picture, and the choices. */
export function messageText(message: Message, prefix: string): string {
  const below = [message.image ?? [], ...choiceLines(message.buttons, prefix, message.awaitsReply)]
    .flat()
    .join("\n");
  const room = TEXT_MAX_BYTES - Buffer.byteLength(below);
  return [cut(toMarkdown(message.text, "xmpp"), room), below].filter((part) => part !== "").join("\n");
}

function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A character that is cut in the middle becomes U+FFFD.
  return `${bytes
    .subarray(0, Math.max(0, maxBytes))
    .toString()
    .replace(/\uFFFD$/, "")}…`;
}
