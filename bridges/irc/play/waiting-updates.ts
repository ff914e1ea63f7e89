interface Waiting {
  readonly timer: NodeJS.Timeout;
}

/** Maximum number of updates that wait to be printed. */
const WAITING_MAX = 500;

/** Updates that are printed after a wait, at most one of each message. */
export interface WaitingUpdates<Event> {
  /** Prints an update after `ms`, instead of an earlier update of the message. */
  put(messageId: string, event: Event, ms: number): void;
  forget(messageId: string): void;
  close(): void;
}

/** If too many updates wait, the updates that were added first are dropped. `print` must not reject. */
export function createWaitingUpdates<Event>(print: (event: Event) => Promise<void>): WaitingUpdates<Event> {
  const waiting = new Map<string, Waiting>();

  function forget(messageId: string): void {
    clearTimeout(waiting.get(messageId)?.timer);
    waiting.delete(messageId);
  }
  return {
    put(messageId, event, ms) {
      forget(messageId);
      const [oldest] = waiting.keys();
      if (oldest !== undefined && waiting.size >= WAITING_MAX) forget(oldest);
      const due = (): void => {
        waiting.delete(messageId);
        void print(event);
      };
      waiting.set(messageId, { timer: setTimeout(due, ms) });
    },
    forget,
    close() {
      for (const messageId of waiting.keys()) forget(messageId);
    },
  };
}
