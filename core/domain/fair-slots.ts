/** More tasks of one key wait than the bound allows. */
export class SlotsFull extends Error {
  override readonly name = "SlotsFull";
}

/** How a task waits for its slot. */
export interface Turn {
  /** If this signal is aborted while the task waits, `run` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of tasks of the same key that may already wait; `run` rejects with `SlotsFull` above it. */
  readonly waitingMax?: number | undefined;
}

interface Line {
  running: number;
  /** The functions that begin the waiting tasks, in the order of their calls. */
  readonly waiting: Set<() => void>;
}

const newLine = (): Line => ({ running: 0, waiting: new Set() });

/**
 * Limits how many tasks run at the same time: `inAll`, and `ofOne` of the same key. The keys get free slots in turn, so
 * the tasks of one key never wait for all tasks of another key.
 */
export function createFairSlots({ inAll, ofOne }: { readonly inAll: number; readonly ofOne: number }) {
  const lines = new Map<string, Line>();
  /** The keys that can use a free slot, in the order of their turns. */
  const ready = new Set<string>();
  let running = 0;

  /** Updates `ready` after a change of a line, and begins the tasks that have a slot now. */
  function update(key: string, line: Line): void {
    if (line.waiting.size === 0 || line.running >= ofOne) ready.delete(key);
    else ready.add(key);
    if (line.waiting.size === 0 && line.running === 0) lines.delete(key);
    if (running < inAll) beginNext();
  }

  function beginNext(): void {
    const [key] = ready;
    const line = key === undefined ? undefined : lines.get(key);
    const [begin] = line?.waiting ?? [];
    if (key === undefined || line === undefined || begin === undefined) return;
    line.waiting.delete(begin);
    line.running += 1;
    running += 1;
    // The key is added again at the end, so that the other keys have their turns first.
    ready.delete(key);
    begin();
    update(key, line);
  }

  function wait(key: string, { signal, waitingMax = Infinity }: Turn): Promise<Line> {
    const line = lines.get(key) ?? newLine();
    if (line.waiting.size >= waitingMax) {
      return Promise.reject(new SlotsFull(`${waitingMax} tasks already wait`));
    }
    lines.set(key, line);
    return new Promise((resolve, reject) => {
      function begin(): void {
        signal?.removeEventListener("abort", leave);
        resolve(line);
      }
      function leave(): void {
        line.waiting.delete(begin);
        update(key, line);
        reject(signal?.reason as Error);
      }
      signal?.addEventListener("abort", leave, { once: true });
      line.waiting.add(begin);
      update(key, line);
    });
  }

  /** Returns the function that frees the slot of a running task. */
  function releaseOf(key: string, line: Line): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      line.running -= 1;
      running -= 1;
      update(key, line);
    };
  }

  async function acquire(key: string, turn: Turn = {}): Promise<() => void> {
    turn.signal?.throwIfAborted();
    return releaseOf(key, await wait(key, turn));
  }

  return {
    /** Resolves when there is a slot, to the function that frees the slot. Only the first call of that function counts. */
    acquire,
    /** Like `acquire`, but returns undefined when the task would have to wait. */
    tryAcquire(key: string): (() => void) | undefined {
      const line = lines.get(key) ?? newLine();
      if (running >= inAll || line.running >= ofOne || line.waiting.size > 0) return undefined;
      lines.set(key, line);
      line.running += 1;
      running += 1;
      return releaseOf(key, line);
    },
    /** Calls `task` when it has a slot. Resolves or rejects as `task` does. */
    async run<T>(key: string, task: () => Promise<T>, turn: Turn = {}): Promise<T> {
      const release = await acquire(key, turn);
      try {
        turn.signal?.throwIfAborted();
        return await task();
      } finally {
        release();
      }
    },
  };
}
