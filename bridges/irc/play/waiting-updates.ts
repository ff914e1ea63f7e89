/** Maximum number of updates that wait to be printed: in all channels, and in one channel. */
const WAITING_MAX = 500;
const WAITING_PER_CHANNEL_MAX = 50;

/** The fields of an update that identify the waiting update to replace. */
interface Waiting {
  readonly channel: string;
  readonly message: { readonly id: string };
}

/**
 * Updates that are printed after a wait: at most one for each message. If too many updates are waiting, the oldest are
 * dropped.
 */
export class WaitingUpdates<Update extends Waiting> {
  readonly #print: (update: Update) => void;
  /** Keyed by the id of the message. */
  readonly #timers = new Map<string, { readonly channel: string; readonly timer: NodeJS.Timeout }>();

  constructor(print: (update: Update) => void) {
    this.#print = print;
  }

  /** Prints an update after `ms`. If an earlier update of the message is waiting, the new update replaces it. */
  put(update: Update, ms: number): void {
    const { channel, message } = update;
    this.forget(message.id);
    const others = [...this.#timers].filter(([, each]) => each.channel === channel);
    const isChannelFull = others.length >= WAITING_PER_CHANNEL_MAX;
    const [oldest] = isChannelFull ? others.map(([id]) => id) : this.#timers.keys();
    if (oldest !== undefined && (isChannelFull || this.#timers.size >= WAITING_MAX)) this.forget(oldest);
    const due = (): void => {
      this.#timers.delete(message.id);
      this.#print(update);
    };
    this.#timers.set(message.id, { channel, timer: setTimeout(due, ms) });
  }

  forget(messageId: string): void {
    clearTimeout(this.#timers.get(messageId)?.timer);
    this.#timers.delete(messageId);
  }

  close(): void {
    for (const messageId of this.#timers.keys()) this.forget(messageId);
  }
}
