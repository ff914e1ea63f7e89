import type { QueuedPush } from "../ports/push-queue";

/** Maximum number of first attempts of one workspace that are in progress at the same time. */
export const IN_FLIGHT_MAX = 16;
/**
 * Maximum number of events of one workspace that wait for a first attempt. Further events are dropped with the
 * reason "overloaded".
 */
export const WAITING_MAX = 5_000;
/**
 * Maximum number of retries of one workspace that are in progress at the same time. If a bridge never answers, 32
 * retries are in progress: two for each of the `IN_FLIGHT_MAX` first attempts.
 */
export const RETRIES_MAX = 64;
/**
 * Maximum milliseconds for which an event waits for its turn. The wait begins when the event is published, or when its
 * retry is due. An event that has waited longer is dropped.
 */
export const WAIT_MAX_MS = 10_000;

/** Schedules the attempts to push the events of one workspace. */
export class WorkspaceTurns<T extends Turned> {
  /**
   * The first attempts, which start in the order of publication. An event waits while the first attempt of an earlier
   * event for the same message is in progress. Meanwhile, all later events of the workspace wait too (head-of-line
   * blocking within one workspace).
   */
  readonly first = new Turns<T>(IN_FLIGHT_MAX, WAITING_MAX, true);
  /**
   * The retries that are due. The dispatcher limits the bytes of the workspace's events, and thereby the number of
   * waiting retries.
   */
  readonly retries = new Turns<T>(RETRIES_MAX, Infinity, false);

  get isIdle(): boolean {
    return this.first.isIdle && this.retries.isIdle;
  }
}

interface Turned {
  readonly event: Pick<QueuedPush, "messageId">;
}

/** The next step for the event that has waited longest. */
export interface Turn<T> {
  readonly do: "start" | "drop";
  readonly push: T;
  /** The argument of `add`. */
  readonly since: number;
}

interface WaitingPush<T> {
  readonly push: T;
  readonly since: number;
}

/** The attempts of one workspace that are in progress, and the events that wait for their turns, in order. */
export class Turns<T extends Turned> {
  readonly #inProgressMax: number;
  readonly #waitingMax: number;
  readonly #isOnePerMessage: boolean;
  /** The waiting events. `#takeFirst` replaces an event by undefined, so that the garbage collector can free it. */
  readonly #waiting: (WaitingPush<T> | undefined)[] = [];
  /** Index of the first event in `#waiting` that has not had a turn. */
  #head = 0;
  #inProgress = 0;
  /** Ids of the messages whose events have a turn; empty unless each message can have only one turn. */
  readonly #busy = new Set<string>();

  /** @param isOnePerMessage whether an event waits while another event for the same message has a turn */
  constructor(inProgressMax: number, waitingMax: number, isOnePerMessage: boolean) {
    this.#inProgressMax = inProgressMax;
    this.#waitingMax = waitingMax;
    this.#isOnePerMessage = isOnePerMessage;
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.#inProgress === 0;
  }
  /** The number of events that wait for their turns. */
  get waiting(): number {
    return this.#waiting.length - this.#head;
  }

  /**
   * Adds an event. Returns false when too many events wait.
   *
   * @param since when the event began to wait, on the same clock as the argument `now` of `next`
   */
  add(push: T, since: number): boolean {
    if (this.waiting >= this.#waitingMax) return false;
    this.#waiting.push({ push, since });
    return true;
  }

  /** Removes and returns all waiting events, in order. */
  takeAll(): readonly T[] {
    const all = this.#waiting.splice(0).slice(this.#head);
    this.#head = 0;
    return all.flatMap((each) => (each === undefined ? [] : [each.push]));
  }

  /**
   * Returns the next step, or undefined when there is none now. After a step "start", the caller must call `end` when
   * the attempt has ended.
   */
  next(now: number): Turn<T> | undefined {
    const first = this.#waiting[this.#head];
    if (first === undefined) return undefined;
    const { push, since } = first;
    const { messageId } = push.event;
    const isLate = now - since > WAIT_MAX_MS;
    if (!isLate && (this.#inProgress >= this.#inProgressMax || this.#busy.has(messageId))) return undefined;
    this.#takeFirst();
    if (isLate) return { do: "drop", push, since };
    this.#inProgress += 1;
    if (this.#isOnePerMessage && messageId !== "") this.#busy.add(messageId);
    return { do: "start", push, since };
  }

  end({ event }: T): void {
    this.#inProgress -= 1;
    this.#busy.delete(event.messageId);
  }

  #takeFirst(): void {
    this.#waiting[this.#head] = undefined;
    this.#head += 1;
    if (this.#head < 256 && this.#head < this.#waiting.length) return;
    this.#waiting.splice(0, this.#head);
    this.#head = 0;
  }
}
