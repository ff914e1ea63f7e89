import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import {
  CannotShow,
  dmChannel,
  type BridgeChat,
  type DmCreate,
  type Message,
  type MessageCreate,
  type MessageEphemeral,
  type ShownMessage,
} from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { isChannelName } from "../connection/channel-list";
import type { LineRoom } from "../connection/line-room";
import type { Outbox } from "../connection/outbox";
import { Canceled } from "../connection/post-queue";
import { printLines } from "../print/print-lines";
import { isUrgent, printedOf } from "../print/what-to-print";
import type { Journal } from "../state/journal";
import { messageParts, type Part, type TextOptions } from "../text/message-parts";
import { choicesOf } from "../text/choices-line";
import { noticePrefix } from "../text/notice-prefix";
import type { SentMessage } from "./find-choices";
import { LiveMessages, type Update } from "./live-messages";
import { Receipts } from "./receipts";

export interface MessagePrinterOptions {
  readonly outbox: Pick<Outbox, "post" | "cancel">;
  readonly journal: Journal;
  readonly room: Pick<LineRoom, "bytesFor">;
  readonly text: TextOptions;
  readonly maxLines: number;
  /** Minimum milliseconds between two prints of a message that does not start a phase. */
  readonly gapMs: number;
  /**
   * Returns the current nick of a member, in lower case. Throws `CannotShow` or `RetryLater` if the nick is unknown.
   */
  nickOf(userId: string): string;
  /** Returns a message as the kit has saved it. */
  shown(messageId: string): ShownMessage | undefined;
  /** Whether the kit has saved the version of the message from the event with this sequence, or a later version. */
  isSaved(messageId: string, sequence: number): boolean;
  /** Called with an update for a channel in which the bridge cannot write now. */
  hold?(update: Update): void;
  /** Called when all lines of a message that the whole channel sees are printed. */
  onPrinted?(update: Update): void;
  readonly log: Logger;
}

/** The fields of an event that are needed to print it. */
type Printable = Pick<MessageCreate, "id" | "sequence" | "expiresAt" | "message">;

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
  /** The version that members see before the first line is sent; undefined for a new message. */
  readonly before: SentMessage | undefined;
  readonly done: Promise<void>;
}

const DM = "dm:";
/** Maximum milliseconds for which the bridge waits until the kit has saved a message. */
const SAVED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 20;

/** Prints the messages of the service as lines. The chat's id of a message is the same as the service's id. */
export class MessagePrinter implements BridgeChat {
  readonly #options: MessagePrinterOptions;
  /** Keyed by the id of the message. */
  readonly #printing = new Map<string, Printing>();
  readonly #receipts = new Receipts();
  readonly #live: LiveMessages;

  constructor(options: MessagePrinterOptions) {
    const { journal, gapMs, log, outbox } = options;
    this.#options = options;
    this.#live = new LiveMessages({
      journal,
      gapMs,
      log,
      partsOf: (message) => this.#partsOf(message),
      print: (update, parts) =>
        this.#print(update, parts, { channel: update.channel, user: null }, this.#visibleBefore(update)),
      cancel: (eventId) => outbox.cancel(eventId),
      hold: (update) => options.hold?.(update),
    });
  }

  async post(event: MessageCreate): Promise<string> {
    this.#receipts.overtakenBy(event);
    await this.#print(event, this.#partsOf(event.message), { channel: event.channel, user: null });
    return event.message.id;
  }

  async dm(event: DmCreate): Promise<string> {
    await this.#print(event, this.#partsOf(event.message), { channel: dmChannel(event.user), user: null });
    return event.message.id;
  }

  /** Resolves to undefined if a newer event has overtaken the notice, which is then not printed. */
  async ephemeral({ channel, user, ...event }: MessageEphemeral): Promise<string | undefined> {
    // Often, the page with the notice also contains the update that overtakes it. The kit passes this update in the
    // same turn of the event loop.
    await nextTurn();
    if (this.#receipts.isOvertaken(event)) return undefined;
    this.#receipts.add(event);
    try {
      await this.#print(event, this.#partsOf(event.message), { channel, user });
      return event.message.id;
    } catch (error) {
      if (error instanceof Canceled) return undefined;
      throw error;
    } finally {
      this.#receipts.remove(event.id);
    }
  }

  /**
   * Resolves when the update is noted in the journal, and does not wait until the update is printed. The kit passes the
   * message's next update, which can replace this one, only after this promise has resolved.
   */
  async update(event: Update): Promise<void> {
    for (const eventId of this.#receipts.overtakenBy(event)) this.#options.outbox.cancel(eventId);
    this.#live.put(event);
  }

  /**
   * Returns the messages for which the kit's list differs from what members see, newest first. The kit lists a new
   * message late, and lists an update before the lines of the update are sent.
   */
  sent(): readonly SentMessage[] {
    return [...this.#printing.values()].flatMap((each) => this.#visible(each) ?? []).toReversed();
  }

  /** Whether choices will be printed soon in a channel. */
  areChoicesComing(channel: string): boolean {
    const isComing = ({ shown, eventId, lines }: Printing): boolean =>
      shown.channel === channel &&
      shown.user === null &&
      choicesOf(shown.message.buttons).length > 0 &&
      this.#options.journal.sentOf(eventId) < lines;
    return [...this.#printing.values()].some(isComing) || this.#live.areChoicesNext(channel);
  }

  /** Resolves when the lines of a message are confirmed, or refused. */
  async settled(messageId: string): Promise<void> {
    await this.#printing.get(messageId)?.done.catch(() => undefined);
  }

  /** Prints the updates that an earlier run of the bridge has not printed. */
  resume(shown: (messageId: string) => ShownMessage | undefined): void {
    this.#live.resume(shown);
  }

  /** Stops all waits. The next run of the bridge prints the updates that are still waiting. */
  close(): void {
    this.#live.close();
  }

  #partsOf(message: Message): readonly Part[] {
    return messageParts(message, this.#options.text);
  }

  async #print(event: Printable, parts: readonly Part[], place: Place, before?: SentMessage): Promise<void> {
    const { outbox, journal, maxLines, room } = this.#options;
    const { id, sequence, message, expiresAt } = event;
    const command = place.user === null ? "PRIVMSG" : "NOTICE";
    const target = this.#targetOf(place.user === null ? place.channel : `${DM}${place.user}`);
    // After a restart, the lines must be the same as before, because the journal stores only the number of sent lines.
    const lineBytes = journal.lineBytesOf(id) ?? room.bytesFor(command, target);
    const prefix = place.user === null || isDirect(place) ? "" : noticePrefix(place.channel);
    const maxBytes = lineBytes - Buffer.byteLength(prefix);
    const lines = printLines(parts, { maxLines, maxBytes }).map((line) => `${prefix}${line}`);
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    const post = { id, command, target, lines, lineBytes, expiresAtMs, isUrgent: isUrgent(message) } as const;
    const done = outbox.post(post);
    const shown = { ...place, messageId: message.id, message, chatMessageIds: [message.id] };
    const printing = { shown, eventId: id, sequence, lines: lines.length, before, done };
    // The map is in order of printing, so the message must move to the end of the map.
    this.#printing.delete(message.id);
    this.#printing.set(message.id, printing);
    try {
      await done;
      journal.notePrinted(message.id, printedOf(message, this.#partsOf(message), Date.now()));
      if (place.user === null) this.#options.onPrinted?.({ ...event, channel: place.channel });
    } catch (error) {
      // The next version of a canceled message is printed at once, and needs the entry.
      if (error instanceof Canceled) setImmediate(() => this.#forget(printing));
      else this.#forget(printing);
      throw error;
    }
    void this.#forgetWhenSaved(printing);
  }

  /** Returns a message that is being printed, as members see it; undefined if they see nothing that they can answer. */
  #visible({ shown, eventId, lines, before }: Printing): SentMessage | undefined {
    const sent = this.#options.journal.sentOf(eventId);
    if (sent >= lines) return shown;
    return sent > 0 && before !== undefined ? withoutChoices(before) : before;
  }

  /** Returns the version of a message that members see before an update of it is printed. */
  #visibleBefore({ channel, sequence, message }: Update): SentMessage {
    const { id: messageId } = message;
    const closed = withoutChoices({ channel, user: null, messageId, message, chatMessageIds: [messageId] });
    const printing = this.#printing.get(messageId);
    if (printing !== undefined) return this.#visible(printing) ?? closed;
    const known = this.#options.shown(messageId);
    // The kit lists the update itself if an earlier run has accepted it.
    return known !== undefined && known.sequence < sequence ? known : closed;
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
   * Returns the target of a line: a channel, or the nick of a member. Throws `CannotShow` for anything else. Otherwise,
   * a game could write to any nick as the bridge, e.g. to the services of the network.
   */
  #targetOf(channel: string): string {
    if (channel.startsWith(DM)) return this.#options.nickOf(channel.slice(DM.length));
    if (!isChannelName(channel)) throw new CannotShow("the target is not a channel");
    return channel;
  }
}

function isDirect({ channel }: Place): boolean {
  return channel.startsWith(DM);
}

function withoutChoices(shown: SentMessage): SentMessage {
  return { ...shown, message: { ...shown.message, buttons: [], awaitsReply: false } };
}
