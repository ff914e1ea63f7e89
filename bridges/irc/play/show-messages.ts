import {
  CannotShow,
  dmChannel,
  RetryLater,
  type BridgeChat,
  type Message,
  type MessageUpdate,
  type ShownMessage,
} from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { isChannelName } from "../connection/channel-list";
import type { Outbox } from "../connection/outbox";
import { printLines } from "../print/print-lines";
import { printedOf } from "../print/printed";
import { whatToPrint } from "../print/what-to-print";
import type { Journal } from "../state/journal";
import { messageParts, type Part, type TextOptions } from "../text/message-parts";
import type { SentMessage } from "./find-choices";
import { createWaitingUpdates } from "./waiting-updates";

export interface ShowMessagesOptions {
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
  readonly log: Logger;
}

/** The fields of an event that printing needs. */
interface Printable {
  readonly id: string;
  readonly expiresAt: string | null;
  readonly message: Message;
}

/** A channel, or a direct conversation, and the only member who sees the message there, or null. */
type Place = Pick<ShownMessage, "channel" | "user">;

/** A message whose lines are being sent. */
interface Printing {
  readonly shown: SentMessage;
  readonly eventId: string;
  /** The number of lines. */
  readonly lines: number;
  readonly done: Promise<void>;
}

type Update = Pick<MessageUpdate, "id" | "expiresAt" | "message" | "channel" | "sequence">;

const DM = "dm:";

/** Prints the messages of the service as lines. The chat's id of a message is the service's id. */
export function showMessages(options: ShowMessagesOptions) {
  const { outbox, journal, text, maxLines, gapMs, nickOf, log } = options;
  const printing = new Map<string, Printing>();
  const running = new Map<string, Promise<void>>();
  const waiting = createWaitingUpdates<Update>((event) =>
    update(event).catch((error: unknown) => {
      log.warn({ messageId: event.message.id, problem: String(error) }, "an update was not printed");
      journal.noteWaiting(event.message.id, undefined);
    }),
  );

  /**
   * Returns the target of a line: a channel, or the nick of a member. Throws `CannotShow` for anything else, because a
   * game could otherwise write to any nick, and to the services of the network, in the name of the bridge.
   */
  function targetOf(channel: string): string {
    if (channel.startsWith(DM)) return nickOf(channel.slice(DM.length));
    if (!isChannelName(channel)) throw new CannotShow("the target is not a channel");
    return channel;
  }

  async function print(event: Printable, parts: readonly Part[], place: Place): Promise<string> {
    const { id, message, expiresAt } = event;
    const lines = printLines(parts, maxLines);
    const done = outbox.post({
      id,
      command: place.user === null ? "PRIVMSG" : "NOTICE",
      target: targetOf(place.user === null ? place.channel : `${DM}${place.user}`),
      lines,
      expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
    });
    const shown = { ...place, messageId: message.id, message, chatMessageIds: [message.id] };
    printing.set(message.id, { shown, eventId: id, lines: lines.length, done });
    try {
      await done;
      journal.notePrinted(message.id, printedOf(message, messageParts(message, text), Date.now()));
    } finally {
      printing.delete(message.id);
    }
    return message.id;
  }

  /** Prints an update after a wait, unless a newer update of the message arrives earlier. */
  function printLater(event: Update, ms: number): void {
    const { id: eventId, message, sequence, expiresAt } = event;
    journal.noteWaiting(message.id, { eventId, sequence, expiresAt });
    waiting.put(message.id, event, ms);
  }

  /**
   * Applies the updates of a message one at a time, because each update depends on the lines that were printed before.
   */
  function update(event: Update): Promise<void> {
    const { id } = event.message;
    const before = running.get(id)?.catch(() => undefined) ?? Promise.resolve();
    const run = before.then(() => apply(event)).finally(() => running.get(id) === run && running.delete(id));
    running.set(id, run);
    return run;
  }

  async function apply(event: Update): Promise<void> {
    const { message, channel } = event;
    waiting.forget(message.id);
    const parts = messageParts(message, text);
    const before = journal.printedOf(message.id);
    const decision = whatToPrint({ message, parts, before, nowMs: Date.now(), gapMs });
    if (decision.type === "wait") return printLater(event, decision.ms);
    if (decision.type === "nothing") return;
    try {
      await print(event, decision.parts, { channel, user: null });
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error;
      // If this function rejected, the kit would drop the update.
      printLater(event, error.retryAfterMs);
    }
  }

  const chat: BridgeChat = {
    post: (event) => print(event, messageParts(event.message, text), { channel: event.channel, user: null }),
    dm: (event) =>
      print(event, messageParts(event.message, text), { channel: dmChannel(event.user), user: null }),
    update,
    ephemeral: (event) =>
      print(event, messageParts(event.message, text), { channel: event.channel, user: event.user }),
  };
  return {
    chat,
    /**
     * The messages whose lines are all sent, but not all confirmed, the newest first. Members can already answer these
     * messages, although the kit does not list them yet.
     */
    sent: (): readonly SentMessage[] =>
      [...printing.values()]
        .filter(({ eventId, lines }) => journal.sentOf(eventId) >= lines)
        .map(({ shown }) => shown)
        .toReversed(),
    /** Resolves when the lines of a message are confirmed, or refused. */
    async settled(messageId: string): Promise<void> {
      await printing.get(messageId)?.done.catch(() => undefined);
    },
    /** Prints the updates that an earlier run of the bridge has not printed. */
    resume(shown: (messageId: string) => ShownMessage | undefined): void {
      for (const { messageId, sequence, expiresAt } of journal.waiting()) {
        const known = shown(messageId);
        if (known?.sequence !== sequence) continue;
        const { channel, message, eventId: id } = known;
        waiting.put(messageId, { id, channel, message, sequence, expiresAt }, 0);
      }
    },
    /** Stops all waits. A later run prints the waiting updates. */
    close: waiting.close,
  };
}
