import type {
  BridgeChat,
  DmCreate,
  MessageCreate,
  MessageEphemeral,
  ShownMessage,
  ShownUpdate,
} from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { ChannelUnable } from "../connection/channel-unable";
import type { Journal } from "../state/journal";
import { Closings } from "./closings";
import type { Closing } from "./find-choices";
import { HeldMessages, type HeldEvent } from "./held-messages";
import type { MessagePrinter } from "./message-printer";

export interface ChannelChatOptions {
  readonly printer: Pick<MessagePrinter, "post" | "dm" | "ephemeral" | "update">;
  readonly journal: Pick<Journal, "noteSent" | "noteUnprinted" | "noteWaiting">;
  /** Returns a message as the kit has saved it. */
  shown(messageId: string): ShownMessage | undefined;
  readonly log: Logger;
}

/**
 * Prints messages, and holds the newest messages of channels in which the bridge cannot write. The games in these
 * channels continue. When the bridge can write again, it prints the current state of the game as a whole. Until then,
 * the bridge reports no errors to the service, so the service retries nothing, and other channels do not wait.
 */
export class ChannelChat implements BridgeChat {
  readonly #options: ChannelChatOptions;
  readonly #held = new HeldMessages();
  readonly #closings = new Closings();

  constructor(options: ChannelChatOptions) {
    this.#options = options;
  }

  async post(event: MessageCreate): Promise<string> {
    try {
      return await this.#options.printer.post(event);
    } catch (error) {
      if (!(error instanceof ChannelUnable)) throw error;
      this.hold(event);
      return event.message.id;
    }
  }

  update(event: ShownUpdate): Promise<void> {
    const { printer, shown } = this.#options;
    const { channel, message } = event;
    this.#closings.note(channel, message, shown(message.id)?.message);
    return printer.update(event);
  }

  dm(event: DmCreate): Promise<string> {
    return this.#options.printer.dm(event);
  }

  ephemeral(event: MessageEphemeral): Promise<string | undefined> {
    return this.#options.printer.ephemeral(event);
  }

  /** Returns the last replacement of choices in a channel; undefined if it is not recent. */
  justClosed(channel: string): Closing | undefined {
    return this.#closings.just(channel);
  }

  /** Whether the bridge could not print the newest version of a message, so that members do not see it. */
  isHeld(shown: { readonly messageId: string; readonly channel: string }): boolean {
    return this.#held.isHeld(shown);
  }

  /** Holds an event of a channel in which the bridge cannot write now. */
  hold(event: HeldEvent): void {
    const { journal, log } = this.#options;
    const dropped = this.#held.hold(event);
    if (dropped === undefined) return;
    const { id: eventId, channel, message, sequence, expiresAt } = event;
    log.debug({ eventId, channel }, "holding a message, because the bridge cannot write in its channel");
    // Members may have seen the first lines long ago, so the bridge prints all lines again.
    journal.noteSent(eventId, 0);
    journal.noteUnprinted(message.id, { eventId, sequence, expiresAt });
    this.#drop(dropped);
  }

  /** Called when a version of a message was printed. */
  printed(event: HeldEvent): void {
    this.#held.printed(event);
  }

  /** Prints the held messages of a channel in which the bridge can write again. */
  release(channel: string): void {
    const { printer, log } = this.#options;
    for (const event of this.#held.of(channel)) {
      printer.update(event).catch((error: unknown) => {
        log.warn({ messageId: event.message.id, problem: String(error) }, "a held message was not printed");
      });
    }
  }

  /** Drops the held messages of a channel that the bridge has left. */
  forget(channel: string): void {
    this.#drop(this.#held.drop(channel));
  }

  #drop(messageIds: readonly string[]): void {
    for (const messageId of messageIds) this.#options.journal.noteWaiting(messageId, undefined);
  }
}
