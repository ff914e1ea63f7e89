import { CannotShow, dmChannel, type BridgeChat, type Message, type ShownMessage } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import type { Outbox } from "../connection/outbox";
import { printLines } from "../print/print-lines";
import { printedOf } from "../print/printed";
import type { SentMessage } from "./find-choices";
import { whatToPrint, type Decision } from "../print/what-to-print";
import type { Journal } from "../state/journal";
import { messageParts, type Part, type TextOptions } from "../text/message-parts";

export interface ShowMessagesOptions {
  readonly outbox: Pick<Outbox, "post">;
  readonly journal: Journal;
  readonly text: TextOptions;
  readonly maxLines: number;
  /** Minimum milliseconds between two prints of a message that does not start a phase. */
  readonly gapMs: number;
  /** Returns the current nick of a member, in lower case; undefined if it is not known. */
  nickOf(userId: string): string | undefined;
  readonly log: Logger;
}

/** An event with a message, as far as printing needs it. */
interface Printable {
  readonly id: string;
  readonly expiresAt: string | null;
  readonly message: Message;
}

/** A channel, or a direct conversation, and the only member who sees the message there, or null. */
type Place = Pick<ShownMessage, "channel" | "user">;

/** A message of which lines are being sent. */
interface Printing {
  readonly shown: SentMessage;
  readonly eventId: string;
  /** The number of lines. */
  readonly lines: number;
  readonly done: Promise<void>;
}

interface Waiting {
  readonly event: Printable & { readonly channel: string };
  readonly timer: NodeJS.Timeout;
}

const DM = "dm:";
/** Maximum number of updates that wait to be printed. */
const WAITING_MAX = 500;

/** Prints the messages of the service as lines. The id of a message in the chat is the id in the service. */
export function showMessages(options: ShowMessagesOptions) {
  const { outbox, journal, text, maxLines, gapMs, nickOf, log } = options;
  const waiting = new Map<string, Waiting>();
  const printing = new Map<string, Printing>();
  const running = new Map<string, Promise<Decision["type"]>>();

  /** Returns the target of a line: a channel, or the nick of a member. */
  function targetOf(channel: string): string {
    if (!channel.startsWith(DM)) return channel;
    const nick = nickOf(channel.slice(DM.length));
    if (nick === undefined) throw new CannotShow("the member is not in a channel of the bridge");
    return nick;
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

  function forget(messageId: string): void {
    clearTimeout(waiting.get(messageId)?.timer);
    waiting.delete(messageId);
  }

  /** Prints an update after a wait, unless a newer update of the message arrives before. */
  function printLater(event: Waiting["event"], ms: number): void {
    const { id, message } = event;
    const print = (): void => {
      waiting.delete(message.id);
      update(event).catch((error: unknown) => {
        log.warn({ messageId: message.id, problem: String(error) }, "an update was not printed");
      });
    };
    forget(message.id);
    const [oldest] = waiting.keys();
    if (oldest !== undefined && waiting.size >= WAITING_MAX) forget(oldest);
    waiting.set(message.id, { event, timer: setTimeout(print, ms) });
    log.debug({ eventId: id, ms }, "an update waits to be printed");
  }

  /** Applies the updates of a message one at a time, because each depends on what was printed before. */
  function update(event: Waiting["event"]): Promise<Decision["type"]> {
    const { id } = event.message;
    const before = running.get(id)?.catch(() => undefined) ?? Promise.resolve();
    const run = before.then(() => apply(event)).finally(() => running.get(id) === run && running.delete(id));
    running.set(id, run);
    return run;
  }

  async function apply(event: Waiting["event"]): Promise<Decision["type"]> {
    const { message, channel } = event;
    forget(message.id);
    const parts = messageParts(message, text);
    const before = journal.printedOf(message.id);
    const decision = whatToPrint({ message, parts, before, nowMs: Date.now(), gapMs });
    if (decision.type === "print") await print(event, decision.parts, { channel, user: null });
    if (decision.type === "wait") printLater(event, decision.ms);
    return decision.type;
  }

  const chat: BridgeChat = {
    post: (event) => print(event, messageParts(event.message, text), { channel: event.channel, user: null }),
    dm: (event) =>
      print(event, messageParts(event.message, text), { channel: dmChannel(event.user), user: null }),
    async update(event) {
      const decision = await update(event);
      if (decision === "wait") journal.noteWaiting(event.message.id, event.id, event.sequence);
    },
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
      for (const { messageId, sequence } of journal.waiting()) {
        const known = shown(messageId);
        if (known?.sequence !== sequence) continue;
        const { channel, message, eventId: id } = known;
        printLater({ id, channel, message, expiresAt: null }, 0);
      }
    },
    /** Stops all waits. A later run prints the waiting updates. */
    close(): void {
      for (const messageId of waiting.keys()) forget(messageId);
    },
  };
}
