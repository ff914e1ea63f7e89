import type { QueuedPush } from "../ports/push-queue";

/** Maximum number of first attempts of one workspace that are in progress at the same time. */
export const IN_FLIGHT_MAX = 16;
/**
 * Maximum number of events of one workspace that wait for a first attempt. Further events are dropped with the
 * reason "overloaded".
 */
export const WAITING_MAX = 5_000;
/** Maximum milliseconds from publication to the first attempt. An event that has waited longer is dropped. */
export const WAIT_MAX_MS = 10_000;

/** The next step for the oldest waiting event. */
export type FirstAttemptStep =
  | { readonly do: "start"; readonly push: QueuedPush }
  /** `since` is the argument of `add`. */
  | { readonly do: "drop"; readonly push: QueuedPush; readonly since: number };

export type FirstAttempts = ReturnType<typeof createFirstAttempts>;

/**
 * The first attempts of one workspace. They start in the order of publication, several at a time. An event waits
 * while the first attempt of an earlier event for the same message is in progress. Meanwhile, all later events of
 * the workspace wait, too.
 */
export function createFirstAttempts() {
  const waiting: { readonly push: QueuedPush; readonly since: number }[] = [];
  /** Ids of the messages with a first attempt in progress. Each message has at most one such attempt. */
  const busy = new Set<string>();
  let inProgress = 0;
  let head = 0;

  function takeHead(): void {
    head += 1;
    if (head < 256 && head < waiting.length) return;
    waiting.splice(0, head);
    head = 0;
  }

  return {
    get isIdle() {
      return waiting.length === 0 && inProgress === 0;
    },
    /** The number of events that wait for their first attempt. */
    get waiting() {
      return waiting.length - head;
    },
    /**
     * Adds an event. Returns false when too many events wait.
     *
     * @param since the time of the publication, on the same clock as the argument `now` of `next`
     */
    add(push: QueuedPush, since: number): boolean {
      if (waiting.length - head >= WAITING_MAX) return false;
      waiting.push({ push, since });
      return true;
    },
    /** Removes and returns all waiting events, in order. */
    takeAll(): readonly QueuedPush[] {
      const all = waiting.splice(0).slice(head);
      head = 0;
      return all.map(({ push }) => push);
    },
    /**
     * Returns the next step, or undefined when there is none now. After a step "start", the caller must call `end`
     * when the attempt is over.
     */
    next(now: number): FirstAttemptStep | undefined {
      const first = waiting[head];
      if (first === undefined) return undefined;
      const { push, since } = first;
      if (now - since > WAIT_MAX_MS) {
        takeHead();
        return { do: "drop", push, since };
      }
      if (inProgress >= IN_FLIGHT_MAX || busy.has(push.messageId)) return undefined;
      takeHead();
      inProgress += 1;
      if (push.messageId !== "") busy.add(push.messageId);
      return { do: "start", push };
    },
    end({ messageId }: QueuedPush): void {
      inProgress -= 1;
      busy.delete(messageId);
    },
  };
}
