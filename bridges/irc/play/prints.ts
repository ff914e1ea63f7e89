import type { Message, MessageCreate } from "chat-bridge-kit";
import { LRUCache } from "lru-cache";
import { choicesOf } from "../text/choices-line";
import type { Closing, SentMessage } from "./find-choices";

/** An event whose lines are waiting, or are being sent. */
interface Print {
  readonly eventId: string;
  readonly channel: string;
  readonly message: Message;
  /** Whether the event replaces choices that members see. */
  readonly isClosing: boolean;
}

export interface PrintsOptions {
  /** Returns the message as members see it now; undefined if they do not see it. */
  shown(messageId: string): { readonly message: Message } | undefined;
  /** Whether at least one line of an event was sent. */
  hasBegun(eventId: string): boolean;
  /** Whether all lines of a version of a message were sent. */
  isSent(message: Message): boolean;
}

const CHANNELS_MAX = 1_000;
/** Milliseconds for which members may still type a number that they chose before the choices were replaced. */
const JUST_CLOSED_MS = 10_000;

/**
 * The events that are being printed. Printing takes seconds, so members can type a number before they see the choices,
 * or just after the choices were replaced.
 */
export class Prints {
  readonly #options: PrintsOptions;
  readonly #prints = new Set<Print>();
  /** The last replacement of choices in each channel. */
  readonly #closings = new LRUCache<string, Closing>({ max: CHANNELS_MAX });

  constructor(options: PrintsOptions) {
    this.#options = options;
  }

  /** Follows the printing of an event, and returns `printing`. The kit bounds the number of events. */
  async follow<T>(
    { id: eventId, channel, message }: Pick<MessageCreate, "id" | "channel" | "message">,
    printing: () => Promise<T>,
  ): Promise<T> {
    const before = this.#options.shown(message.id)?.message;
    const isClosing = before !== undefined && !isSubset(before, message);
    const print = { eventId, channel, message, isClosing };
    const closing = { messageId: message.id, atMs: Date.now(), untilMs: Date.now() + JUST_CLOSED_MS };
    this.#prints.add(print);
    if (isClosing) this.#closings.set(channel, closing);
    try {
      return await printing();
    } finally {
      this.#prints.delete(print);
      // The moment begins when members have seen the replacement.
      closing.untilMs = Date.now() + JUST_CLOSED_MS;
    }
  }

  /** Whether the choices of a message have been replaced, although the kit still lists them. */
  isClosed({ messageId, message }: SentMessage): boolean {
    return [...this.#prints].some(
      (print) =>
        print.isClosing &&
        print.message.id === messageId &&
        print.message !== message &&
        this.#options.hasBegun(print.eventId),
    );
  }

  /** Whether choices will be printed soon in a channel. */
  areChoicesComing(channel: string): boolean {
    return [...this.#prints].some(
      (print) =>
        print.channel === channel &&
        choicesOf(print.message.buttons).length > 0 &&
        !this.#options.isSent(print.message),
    );
  }

  /** Returns the last replacement of choices in a channel, if it was a moment ago. */
  justClosed(channel: string): Closing | undefined {
    const closing = this.#closings.get(channel);
    return closing !== undefined && closing.untilMs > Date.now() ? closing : undefined;
  }
}

/** Whether each choice of a message is also, with the same number, a choice of another message. */
function isSubset(one: Message, other: Message): boolean {
  const others = choicesOf(other.buttons);
  return choicesOf(one.buttons).every(({ action }, i) => others[i]?.action === action);
}
