import type { Chat } from "./catch-up";
import { CannotShow } from "./chat-errors";
import type { DmCreate, Message, MessageCreate, MessageEphemeral, MessageUpdate } from "./events";
import { dmChannel } from "./inbound-event";
import type { MessageStore } from "./message-store";
import type { PendingCalls } from "./pending-calls";
import { errorOf } from "./problem";
import type { ReportedIds } from "./reported-ids";
import type { ShownMessage, ShownMessages } from "./shown-messages";

/**
 * The ids that the chat gave to the messages that a call posted. Each id must be unique in the whole chat, not only in
 * its channel.
 */
export type ChatMessageIds = string | readonly string[];

/** An update, with the chat's ids of the message. */
export interface ShownUpdate extends MessageUpdate {
  /** The first of `chatMessageIds`. */
  readonly chatMessageId: string;
  /** Ids that `post` or `dm`, and earlier calls of `update`, returned for the message, oldest first. */
  readonly chatMessageIds: readonly string[];
}

/**
 * Calls to the chat tool, for the bridge's author to implement. A call that rejects, or takes more than
 * `chatTimeoutMs`, counts as refused: `post` and `dm` are called again until the event expires, `ephemeral` for at most 60
 * seconds, and updates are dropped. `RetryLater` sets the minimum wait before the retry, and `CannotShow` drops the event.
 *
 * The `id` of an event stays the same over retries and restarts. If the chat accepts an idempotency key, pass the `id`:
 * then a message is posted only once, even after a crash. `signal` is aborted after `chatTimeoutMs`.
 */
export interface BridgeChat {
  /** Posts `event.message` in `event.channel`. */
  post(event: MessageCreate, signal: AbortSignal): Promise<ChatMessageIds>;
  /** Posts `event.message` in a direct conversation with `event.user`. */
  dm(event: DmCreate, signal: AbortSignal): Promise<ChatMessageIds>;
  /**
   * Replaces the text, buttons and image of a message. In a chat without edits, an update can post further messages,
   * and then resolves to the ids of these messages.
   */
  update(event: ShownUpdate, signal: AbortSignal): Promise<ChatMessageIds | void>;
  /** Shows `event.message` in `event.channel` only to `event.user`. Without this function, `dm` is called instead. */
  ephemeral?(event: MessageEphemeral, signal: AbortSignal): Promise<ChatMessageIds | void>;
}

export interface BridgeChatParts {
  readonly chat: BridgeChat;
  readonly shown: ShownMessages;
  /** The pending calls. A call stays pending until its ids are in `shown` and saved. */
  readonly calls: PendingCalls;
  readonly messages: MessageStore;
  /** The channels and members to which games may write; undefined for all. */
  readonly reported?: ReportedIds | undefined;
  readonly report: (problem: Error) => void;
}

/** Maximum number of ids that the kit keeps for a message: the first id, and the newest ids. */
const IDS_MOST = 20;

/**
 * Returns the `Chat` of a `CatchUp`. The functions of the `Chat` use the service's message ids, because one message can
 * have several ids in the chat. Each call saves the chat's ids before it resolves.
 */
export function savingChat({ chat, shown, calls, messages, reported, report }: BridgeChatParts): Chat {
  type Place = Pick<ShownMessage, "channel" | "user">;
  type Applied = MessageCreate | DmCreate | MessageUpdate | MessageEphemeral;

  async function note(event: Applied, { channel, user }: Place, made: ChatMessageIds | void): Promise<void> {
    const { id: eventId, sequence } = event;
    const message: Message = { ...event.message, data: null };
    const known = shown.byMessageId(message.id);
    const [first, ...others] = new Set([...(known?.chatMessageIds ?? []), ...[made ?? []].flat()]);
    const chatMessageIds = first === undefined ? [] : [first, ...others.slice(1 - IDS_MOST)];
    // If a call succeeds only after its timeout, the kit may already have applied a newer event of the message.
    const isOutdated = known !== undefined && known.sequence > sequence;
    const latest = isOutdated ? known : { messageId: message.id, channel, user, message, eventId, sequence };
    const entry = { ...latest, chatMessageIds };
    shown.put(entry);
    try {
      await messages.save(entry);
    } catch (error) {
      // The chat already shows the message, so this function must not reject: a retry would post the message twice.
      const lost = "after a restart, the message may be posted again, or no longer updated";
      report(errorOf(`cannot save the ids of ${message.id} (${lost})`, error));
    }
  }

  /** Calls the chat. A message that the chat will never accept counts as shown, but gets no ids. */
  async function call(event: Applied, place: Place, chatCall: () => Promise<ChatMessageIds | void>) {
    let made;
    try {
      const fault = event.type === "message.update" ? undefined : reported?.faultOf(event);
      if (fault !== undefined) throw new CannotShow(fault);
      made = await chatCall();
    } catch (error) {
      if (!(error instanceof CannotShow)) throw error;
      report(errorOf(`${event.type} ${event.id} was dropped`, error));
      return event.message.id;
    }
    await note(event, place, made);
    return event.message.id;
  }

  return {
    post: (event, signal) =>
      calls.add(call(event, { channel: event.channel, user: null }, () => chat.post(event, signal))),
    dm: (event, signal) =>
      calls.add(call(event, { channel: dmChannel(event.user), user: null }, () => chat.dm(event, signal))),
    async edit(_messageId, event, signal) {
      const known = shown.byMessageId(event.message.id);
      const [chatMessageId] = known?.chatMessageIds ?? [];
      if (known === undefined || chatMessageId === undefined) return;
      // The channel of the update is ignored, because a game can name any channel there.
      const { channel, chatMessageIds } = known;
      const update = { ...event, channel, chatMessageId, chatMessageIds };
      await calls.add(call(event, known, () => chat.update(update, signal)));
    },
    async ephemeral(event, signal) {
      const { channel, user } = event;
      const show = async () =>
        chat.ephemeral === undefined ? chat.dm(asDm(event), signal) : chat.ephemeral(event, signal);
      await calls.add(call(event, { channel, user }, show));
    },
  };
}

function asDm({ channel: _channel, ...event }: MessageEphemeral): DmCreate {
  return { ...event, type: "dm.create" };
}
