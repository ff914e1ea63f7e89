import type { MessageCreate } from "chat-bridge-kit";

/** The fields of an event that are needed to print it later. */
export type HeldEvent = Pick<MessageCreate, "id" | "sequence" | "expiresAt" | "message" | "channel">;

interface Held {
  readonly event: HeldEvent;
  /** Number of times that the channel has refused the event. */
  readonly refusals: number;
}

/**
 * Maximum number of held messages per channel. When the bridge can write again, members need only the newest messages.
 */
const HELD_PER_CHANNEL = 3;
const CHANNELS_MAX = 1_000;
/** Number of refusals after which a message is dropped: the server may object to the text, and not to the bridge. */
const REFUSALS_MAX = 10;

/**
 * The newest messages of the channels in which the bridge cannot write. Only the newest version of each message is
 * held.
 */
export class HeldMessages {
  /** The messages of each channel by their id, in the order in which they were held. */
  readonly #channels = new Map<string, Map<string, Held>>();

  /**
   * Holds a version of a message. Returns the ids of the messages that are dropped as a result. If the channel has
   * refused the version too often, its message is dropped. Returns undefined if a newer version is already held.
   */
  hold(event: HeldEvent): readonly string[] | undefined {
    const messages = this.#channels.get(event.channel) ?? new Map<string, Held>();
    const { id } = event.message;
    const known = messages.get(id);
    if (known !== undefined && known.event.sequence > event.sequence) return undefined;
    const refusals = (known?.event.id === event.id ? known.refusals : 0) + 1;
    messages.delete(id);
    if (refusals > REFUSALS_MAX) return [id];
    messages.set(id, { event, refusals });
    this.#channels.delete(event.channel);
    this.#channels.set(event.channel, messages);
    return [...this.#excess(messages), ...this.#excessChannel()];
  }

  /** Whether the newest version of a message is held, so that members do not see it. */
  isHeld({ messageId, channel }: { readonly messageId: string; readonly channel: string }): boolean {
    return this.#channels.get(channel)?.has(messageId) === true;
  }

  /** Returns the held messages of a channel, the oldest first. */
  of(channel: string): readonly HeldEvent[] {
    return [...(this.#channels.get(channel)?.values() ?? [])].map(({ event }) => event);
  }

  /** Called when a version of a message was printed. */
  printed({ channel, message, sequence }: HeldEvent): void {
    const messages = this.#channels.get(channel);
    const known = messages?.get(message.id);
    if (known === undefined || known.event.sequence > sequence) return;
    messages?.delete(message.id);
    if (messages?.size === 0) this.#channels.delete(channel);
  }

  /** Drops the messages of a channel, and returns their ids. */
  drop(channel: string): readonly string[] {
    const ids = [...(this.#channels.get(channel)?.keys() ?? [])];
    this.#channels.delete(channel);
    return ids;
  }

  #excess(messages: Map<string, Held>): readonly string[] {
    const excess = [...messages.keys()].slice(0, Math.max(0, messages.size - HELD_PER_CHANNEL));
    for (const id of excess) messages.delete(id);
    return excess;
  }

  #excessChannel(): readonly string[] {
    const [oldest] = this.#channels.keys();
    return oldest === undefined || this.#channels.size <= CHANNELS_MAX ? [] : this.drop(oldest);
  }
}
