import { RetryLater, type Message, type MessageUpdate, type ShownMessage } from "chat-bridge-kit";
import type { Logger } from "chat-bridge-runner";
import { ChannelUnable } from "../connection/channel-unable";
import { Canceled } from "../connection/post-queue";
import { isResult, printedOf, whatToPrint, type Decision, type Printed } from "../print/what-to-print";
import type { Journal } from "../state/journal";
import { choicesOf } from "../text/choices-line";
import type { Part } from "../text/message-parts";
import { WaitingUpdates } from "./waiting-updates";

/** The fields of an update that are needed to print it. */
export type Update = Pick<MessageUpdate, "id" | "sequence" | "expiresAt" | "channel" | "message">;

export interface LiveMessagesOptions {
  readonly journal: Pick<Journal, "sentOf" | "printedOf" | "noteWaiting" | "waiting">;
  /** Minimum milliseconds between two prints of a message that does not start a phase. */
  readonly gapMs: number;
  partsOf(message: Message): readonly Part[];
  /** Prints some parts of a message. Resolves when the parts are printed, and the journal notes this. */
  print(update: Update, parts: readonly Part[]): Promise<void>;
  /** Drops the unsent lines of an event. `print` then rejects with `Canceled`. */
  cancel(eventId: string): void;
  /** Called with an update for a channel in which the bridge cannot write now. */
  hold(update: Update): void;
  readonly log: Logger;
}

/** A message whose update is being printed. */
interface Job {
  readonly update: Update;
  /** Newer updates of the message, which are printed afterwards, oldest first. */
  readonly next: Update[];
}

/** Maximum number of updates of a message that wait for the update that is being printed. */
const NEXT_MAX = 4;

/**
 * The updates of messages. The class accepts an update at once, notes it in the journal, and prints it later. It prints
 * the updates of a message one at a time, because each print depends on what was printed before.
 *
 * A newer update replaces an update that is not printed yet: the lines of a question are dropped when its answer arrives.
 * Only results are always printed, e.g. an answer is printed even if the next question has arrived.
 *
 *     idle ──put()──▶ printing ──printed, refused or canceled──▶ printing the next update, or idle
 *      │   ▲
 *      └───┴─ waiting: the message was printed a moment ago, or its channel is unavailable
 */
export class LiveMessages {
  readonly #options: LiveMessagesOptions;
  /** Keyed by the id of the message. Each job has lines in the outbox, which limits their number. */
  readonly #jobs = new Map<string, Job>();
  readonly #waiting = new WaitingUpdates<Update>((update) => this.put(update));

  constructor(options: LiveMessagesOptions) {
    this.#options = options;
  }

  put(update: Update): void {
    const { message } = update;
    const job = this.#jobs.get(message.id);
    if (job === undefined) return this.#begin(update);
    const last = job.next.at(-1) ?? job.update;
    const decision = this.#decide(message, printedOf(last.message, this.#partsOf(last), Date.now()));
    // Only a count has changed, so the lines that are being printed are still correct.
    if (decision.type === "nothing") return this.#noteWaiting(update, last.id);

    if (job.next.length > 0 && !isResult(last.message)) job.next.pop();
    if (job.next.length >= NEXT_MAX) job.next.shift();
    job.next.push(update);
    this.#noteWaiting(update);
    const isBegun = this.#options.journal.sentOf(job.update.id) > 0;
    if (isResult(job.update.message) || (decision.type === "wait" && isBegun)) return;
    this.#options.cancel(job.update.id);
  }

  /** Prints the updates that an earlier run of the bridge has not printed. */
  resume(shown: (messageId: string) => ShownMessage | undefined): void {
    for (const { messageId, eventId: id, sequence, expiresAt } of this.#options.journal.waiting()) {
      const known = shown(messageId);
      if (known?.sequence !== sequence) continue;
      const { channel, message } = known;
      this.#waiting.put({ id, channel, message, sequence, expiresAt }, 0);
    }
  }

  /** Whether an update with choices in a channel waits until an older update of the same message is printed. */
  areChoicesNext(channel: string): boolean {
    return [...this.#jobs.values()].some(({ next }) =>
      next.some((each) => each.channel === channel && choicesOf(each.message.buttons).length > 0),
    );
  }

  /** Stops all waits. The next run of the bridge prints the updates that are still waiting. */
  close(): void {
    this.#waiting.close();
  }

  #begin(update: Update): void {
    const { message } = update;
    this.#waiting.forget(message.id);
    const decision = this.#decide(message, this.#options.journal.printedOf(message.id));
    if (decision.type === "wait") return this.#printLater(update, decision.ms);
    if (decision.type === "nothing") return this.#noteNothingWaits(message.id);
    this.#noteWaiting(update);
    const job: Job = { update, next: [] };
    this.#jobs.set(message.id, job);
    void this.#run(job, decision.parts);
  }

  async #run({ update, next }: Job, parts: readonly Part[]): Promise<void> {
    const { print, hold, log } = this.#options;
    const messageId = update.message.id;
    try {
      await print(update, parts);
    } catch (error) {
      if (error instanceof ChannelUnable) hold(update);
      else if (error instanceof RetryLater && next.length === 0) this.#printLater(update, error.retryAfterMs);
      else if (!(error instanceof Canceled)) {
        log.warn({ messageId, problem: String(error) }, "an update was not printed");
        if (next.length === 0) this.#noteNothingWaits(messageId);
      }
    }
    this.#jobs.delete(messageId);
    for (const each of next) this.put(each);
  }

  #partsOf({ message }: Update): readonly Part[] {
    return this.#options.partsOf(message);
  }

  #decide(message: Message, before: Printed | undefined): Decision {
    const { gapMs, partsOf } = this.#options;
    return whatToPrint({ message, parts: partsOf(message), before, nowMs: Date.now(), gapMs });
  }

  /** Prints an update after a wait, unless a newer update of the message arrives earlier. */
  #printLater(update: Update, ms: number): void {
    this.#noteWaiting(update);
    this.#waiting.put(update, ms);
  }

  /** Notes that the next run must print an update. The journal counts the lines of the update under `eventId`. */
  #noteWaiting({ id, message, sequence, expiresAt }: Update, eventId = id): void {
    this.#options.journal.noteWaiting(message.id, { eventId, sequence, expiresAt });
  }

  #noteNothingWaits(messageId: string): void {
    this.#options.journal.noteWaiting(messageId, undefined);
  }
}
