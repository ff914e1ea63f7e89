import { CannotShow, type BridgeChat, type Message, type ShownMessage } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import type { Outbox } from "../connection/outbox";
import { printLines } from "../print/print-lines";
import { printedOf } from "../print/printed";
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
  const running = new Map<string, Promise<Decision["type"]>>();

  /** Returns the target of a line: a channel, or the nick of a member. */
  function targetOf(channel: string): string {
    if (!channel.startsWith(DM)) return channel;
    const nick = nickOf(channel.slice(DM.length));
    if (nick === undefined) throw new CannotShow("the member is not in a channel of the bridge");
    return nick;
  }

  async function print(event: Printable, channel: string, parts: readonly Part[], isNotice = false) {
    const { id, message, expiresAt } = event;
    await outbox.post({
      id,
      command: isNotice ? "NOTICE" : "PRIVMSG",
      target: targetOf(channel),
      lines: printLines(parts, maxLines),
      expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
    });
    journal.notePrinted(message.id, printedOf(message, messageParts(message, text), Date.now()));
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
    if (decision.type === "print") await print(event, channel, decision.parts);
    if (decision.type === "wait") printLater(event, decision.ms);
    return decision.type;
  }

  const chat: BridgeChat = {
    post: (event) => print(event, event.channel, messageParts(event.message, text)),
    dm: (event) => print(event, `${DM}${event.user}`, messageParts(event.message, text)),
    async update(event) {
      const decision = await update(event);
      if (decision === "wait") journal.noteWaiting(event.message.id, event.id, event.sequence);
    },
    ephemeral: (event) => print(event, `${DM}${event.user}`, messageParts(event.message, text), true),
  };
  return {
    chat,
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
