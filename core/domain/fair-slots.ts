import { OwnerMap } from "../../runtime/owner-map";
import type { EndSignal } from "./end-signal";

/** Thrown when a key already has the maximum number of waiting tasks. */
export class SlotsFull extends Error {
  override readonly name = "SlotsFull";
}

/** Options for a task that may have to wait for its slot. */
export interface Turn {
  /** If this signal is aborted while the task waits, `run` rejects with the signal's reason. */
  readonly signal?: EndSignal | undefined;
  /**
   * Maximum number of waiting tasks with the same key; `run` rejects with `SlotsFull` if that many tasks already wait.
   */
  readonly waitingMax?: number | undefined;
}

/** The tasks of one key. */
interface Line {
  running: number;
  /** The functions that begin the waiting tasks, in the order of their calls. */
  readonly waiting: Set<() => void>;
}

const newLine = (): Line => ({ running: 0, waiting: new Set() });
const isIdle = ({ running, waiting }: Line): boolean => running === 0 && waiting.size === 0;

/** Maximum numbers of running tasks: in total, and with the same key. */
interface SlotBounds {
  readonly inAll: number;
  readonly ofOne: number;
}

export function createFairSlots(bounds: SlotBounds): FairSlots {
  return new FairSlots(bounds);
}

/**
 * A semaphore with fair turns. Limits how many tasks run at the same time: at most `inAll` tasks, and at most `ofOne`
 * with the same key. The keys get free slots in turn, so the tasks of one key never wait for all tasks of another key.
 */
class FairSlots {
  readonly #bounds: SlotBounds;
  readonly #lines = new OwnerMap(newLine, isIdle);
  /** The keys that can use a free slot, in the order of their turns. */
  readonly #ready = new Set<string>();
  #running = 0;

  constructor(bounds: SlotBounds) {
    this.#bounds = bounds;
  }

  /** Waits for a slot, and resolves to the function that frees it. Only the first call of that function counts. */
  async acquire(key: string, turn: Turn = {}): Promise<() => void> {
    turn.signal?.throwIfAborted();
    return this.tryAcquire(key) ?? this.#releaseOf(key, await this.#wait(key, turn));
  }

  /** Does the same as `acquire`, but returns undefined when the task would have to wait. */
  tryAcquire(key: string): (() => void) | undefined {
    const { inAll, ofOne } = this.#bounds;
    if (this.#running >= inAll) return undefined;
    const line = this.#lines.of(key);
    if (line.running >= ofOne || line.waiting.size > 0) return undefined;
    line.running += 1;
    this.#running += 1;
    return this.#releaseOf(key, line);
  }

  /** Calls `task` when a slot is free for it. Resolves or rejects as `task` does. */
  async run<T>(key: string, task: () => Promise<T>, turn: Turn = {}): Promise<T> {
    const release = await this.acquire(key, turn);
    try {
      turn.signal?.throwIfAborted();
      return await task();
    } finally {
      release();
    }
  }

  #wait(key: string, { signal, waitingMax = Infinity }: Turn): Promise<Line> {
    const line = this.#lines.of(key);
    if (line.waiting.size >= waitingMax) {
      return Promise.reject(new SlotsFull(`${waitingMax} tasks already wait`));
    }
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve(line);
      };
      const leave = (): void => {
        line.waiting.delete(begin);
        this.#update(key, line);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      line.waiting.add(begin);
      this.#update(key, line);
    });
  }

  /** Returns the function that frees the slot of a running task. */
  #releaseOf(key: string, line: Line): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      line.running -= 1;
      this.#running -= 1;
      this.#update(key, line);
    };
  }

  /** Updates `#ready` after `line` has changed, and begins the tasks that can have a slot now. */
  #update(key: string, line: Line): void {
    if (line.waiting.size === 0 || line.running >= this.#bounds.ofOne) this.#ready.delete(key);
    else this.#ready.add(key);
    if (isIdle(line)) this.#lines.idle(key);
    if (this.#running < this.#bounds.inAll) this.#beginNext();
  }

  #beginNext(): void {
    const [key] = this.#ready;
    const line = key === undefined ? undefined : this.#lines.get(key);
    const [begin] = line?.waiting ?? [];
    if (key === undefined || line === undefined || begin === undefined) return;
    line.waiting.delete(begin);
    line.running += 1;
    this.#running += 1;
    // The key is added again at the end, so that the other keys have their turns first.
    this.#ready.delete(key);
    begin();
    this.#update(key, line);
  }
}
