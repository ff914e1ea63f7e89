import { setTimeout as sleep } from "node:timers/promises";
import {
  CannotShow,
  dmChannel,
  RetryLater,
  type BridgeChat,
  type DmCreate,
  type Message,
  type MessageCreate,
  type MessageEphemeral,
  type MessageUpdate,
  type ShownMessage,
} from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { isChannelName } from "../connection/channel-list";
import type { Outbox } from "../connection/outbox";
import { printLines } from "../print/print-lines";
import { printedOf, whatToPrint } from "../print/what-to-print";
import type { Journal } from "../state/journal";
import { messageParts, type Part, type TextOptions } from "../text/message-parts";
import type { SentMessage } from "./find-choices";
import { WaitingUpdates } from "./waiting-updates";

export interface MessagePrinterOptions {
  readonly outbox: Pick<Outbox, "post">;
  readonly journal: Journal;
  readonly text: TextOptions;
  readonly maxLines: number;
  /** Minimum milliseconds between two prints of a message that does not start a phase. */
  readonly gapMs: number;
  /**
   * Returns the current nick of a member, in lower case. Throws `CannotShow` or `RetryLater` if the nick is unknown.
   */
  nickOf(userId: string): string;
  /** Whether the kit has saved the message as the event with this sequence shows it, or a later version. */
  isSaved(messageId: string, sequence: number): boolean;
  readonly log: Logger;
}

/** The fields of an event that printing needs. */
type Printable = Pick<MessageCreate, "id" | "sequence" | "expiresAt" | "message">;
type Update = Printable & Pick<MessageUpdate, "channel">;

/**
 * Where a message is shown: the channel or direct conversation, and the only member who sees it (null if all members
 * do).
 */
type Place = Pick<ShownMessage, "channel" | "user">;

/** A message whose lines are being sent, or that the kit has not saved yet. */
interface Printing {
  readonly shown: SentMessage;
  readonly eventId: string;
  readonly sequence: number;
  /** The number of lines. */
  readonly lines: number;
  readonly done: Promise<void>;
}

const DM = "dm:";
/** Milliseconds after which the bridge no longer waits until the kit has saved a message. */
const SAVED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 20;

/** Prints the messages of the service as lines. The chat's id of a message is the same as the service's id. */
export class MessagePrinter implements BridgeChat {
  readonly #options: MessagePrinterOptions;
  /** Keyed by the id of the message. */
  readonly #printing = new Map<string, Printing>();
  /** The last update of each message that is being applied. */
  readonly #updating = new Map<string, Promise<void>>();
  readonly #waiting = new WaitingUpdates<Update>((event) => this.#updateLate(event));

  constructor(options: MessagePrinterOptions) {
    this.#options = options;
  }

  post(event: MessageCreate): Promise<string> {
    return this.#print(event, this.#partsOf(event.message), { channel: event.channel, user: null });
  }

  dm(event: DmCreate): Promise<string> {
    return this.#print(event, this.#partsOf(event.message), { channel: dmChannel(event.user), user: null });
  }

  ephemeral({ channel, user, ...event }: MessageEphemeral): Promise<string> {
    return this.#print(event, this.#partsOf(event.message), { channel, user });
  }

  /**
   * Applies the updates of a message one at a time, because each update depends on the lines that were printed before.
   */
  update(event: Update): Promise<void> {
    const { id } = event.message;
    const before = this.#updating.get(id)?.catch(() => undefined) ?? Promise.resolve();
    const run = before
      .then(() => this.#apply(event))
      .finally(() => this.#updating.get(id) === run && this.#updating.delete(id));
    this.#updating.set(id, run);
    return run;
  }

  /**
   * Returns the messages whose lines are all sent, but that the kit has not saved yet, newest first. Members can already
   * answer these messages, although the kit does not list them yet.
   */
  sent(): readonly SentMessage[] {
    return [...this.#printing.values()]
      .filter(({ eventId, lines }) => this.#options.journal.sentOf(eventId) >= lines)
      .map(({ shown }) => shown)
      .toReversed();
  }

  /** Resolves when the lines of a message are confirmed, or refused. */
  async settled(messageId: string): Promise<void> {
    await this.#printing.get(messageId)?.done.catch(() => undefined);
  }

  /** Prints the updates that an earlier run of the bridge has not printed. */
  resume(shown: (messageId: string) => ShownMessage | undefined): void {
    for (const { messageId, sequence, expiresAt } of this.#options.journal.waiting()) {
      const known = shown(messageId);
      if (known?.sequence !== sequence) continue;
      const { channel, message, eventId: id } = known;
      this.#waiting.put(messageId, { id, channel, message, sequence, expiresAt }, 0);
    }
  }

  /** Stops all waits. The next run prints the updates that are still waiting. */
  close(): void {
    this.#waiting.close();
  }

  #partsOf(message: Message): readonly Part[] {
    return messageParts(message, this.#options.text);
  }

  async #print(event: Printable, parts: readonly Part[], place: Place): Promise<string> {
    const { outbox, journal, maxLines } = this.#options;
    const { id, sequence, message, expiresAt } = event;
    const lines = printLines(parts, maxLines);
    const done = outbox.post({
      id,
      command: place.user === null ? "PRIVMSG" : "NOTICE",
      target: this.#targetOf(place.user === null ? place.channel : `${DM}${place.user}`),
      lines,
      expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
    });
    const shown = { ...place, messageId: message.id, message, chatMessageIds: [message.id] };
    const printing = { shown, eventId: id, sequence, lines: lines.length, done };
    // The map is in order of printing, so an earlier entry of the message must not keep its position.
    this.#printing.delete(message.id);
    this.#printing.set(message.id, printing);
    try {
      await done;
      journal.notePrinted(message.id, printedOf(message, this.#partsOf(message), Date.now()));
    } catch (error) {
      this.#forget(printing);
      throw error;
    }
    void this.#forgetWhenSaved(printing);
    return message.id;
  }

  /** The kit saves a message only after this class has printed it, and the disk may be slow. */
  async #forgetWhenSaved(printing: Printing): Promise<void> {
    const { shown, sequence } = printing;
    const untilMs = performance.now() + SAVED_WITHIN_MS;
    while (performance.now() < untilMs && !this.#options.isSaved(shown.messageId, sequence)) {
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    }
    this.#forget(printing);
  }

  #forget(printing: Printing): void {
    const { messageId } = printing.shown;
    if (this.#printing.get(messageId) === printing) this.#printing.delete(messageId);
  }

  /**
   * Returns the target of a line: a channel, or the nick of a member. Throws `CannotShow` for anything else: a game
   * could otherwise write as the bridge to any nick, e.g. to the services of the network.
   */
  #targetOf(channel: string): string {
    if (channel.startsWith(DM)) return this.#options.nickOf(channel.slice(DM.length));
    if (!isChannelName(channel)) throw new CannotShow("the target is not a channel");
    return channel;
  }

  async #apply(event: Update): Promise<void> {
    const { journal, gapMs } = this.#options;
    const { message, channel } = event;
    this.#waiting.forget(message.id);
    const parts = this.#partsOf(message);
    const before = journal.printedOf(message.id);
    const decision = whatToPrint({ message, parts, before, nowMs: Date.now(), gapMs });
    if (decision.type === "wait") return this.#printLater(event, decision.ms);
    if (decision.type === "nothing") return;
    try {
      await this.#print(event, decision.parts, { channel, user: null });
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error;
      // This function must not reject, because the kit would then drop the update.
      this.#printLater(event, error.retryAfterMs);
    }
  }

  /** Prints an update after a wait, unless a newer update of the message arrives earlier. */
  #printLater(event: Update, ms: number): void {
    const { id: eventId, message, sequence, expiresAt } = event;
    this.#options.journal.noteWaiting(message.id, { eventId, sequence, expiresAt });
    this.#waiting.put(message.id, event, ms);
  }

  /** Applies an update that has waited. Never rejects. */
  async #updateLate(event: Update): Promise<void> {
    const { journal, log } = this.#options;
    try {
      await this.update(event);
    } catch (error) {
      log.warn({ messageId: event.message.id, problem: String(error) }, "an update was not printed");
      journal.noteWaiting(event.message.id, undefined);
    }
  }
}
