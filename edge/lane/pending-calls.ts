/** Call numbers are `uint32` in the lane's messages. After the highest number, they start again from 0. */
const NUMBERS = 2 ** 32;
const INITIAL_LENGTH = 64;

/**
 * The unanswered calls of a lane, by their numbers, in the order in which they were added. Adding and taking a call takes
 * constant time.
 *
 * The calls are in a ring buffer, because consecutive calls have consecutive numbers. A `Map` would allocate a new
 * table every few hundred calls, and its old tables would keep answered calls in memory until a full garbage
 * collection. The ring grows until it has a slot for every number from the oldest to the newest unanswered call. The
 * deadline of calls limits this range.
 */
export class PendingCalls<Call> {
  #ring: (Call | undefined)[] = Array.from({ length: INITIAL_LENGTH }, () => undefined);
  /** Number of the oldest unanswered call, counted from the lane's first call; equal to `#next` if there is none. */
  #first: number;
  /** Number of the next call. */
  #next: number;
  #size = 0;

  /** @param before number of earlier calls, for tests */
  constructor(before = 0) {
    this.#first = before;
    this.#next = before;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a call, and returns its number. */
  add(call: Call): number {
    if (this.#next - this.#first === this.#ring.length) this.#grow();
    const at = this.#next++;
    this.#ring[at % this.#ring.length] = call;
    this.#size += 1;
    return at % NUMBERS;
  }

  /** Removes a call; returns undefined if no call has this number. */
  take(number: number): Call | undefined {
    let at = this.#first - (this.#first % NUMBERS) + number;
    if (at < this.#first) at += NUMBERS;
    if (at >= this.#next) return undefined;
    const call = this.#ring[at % this.#ring.length];
    if (call === undefined) return undefined;
    this.#ring[at % this.#ring.length] = undefined;
    this.#size -= 1;
    while (this.#first < this.#next && this.oldest === undefined) this.#first += 1;
    return call;
  }

  /** The call that was added first; undefined if there is none. */
  get oldest(): Call | undefined {
    return this.#ring[this.#first % this.#ring.length];
  }

  takeOldest(): Call | undefined {
    return this.take(this.#first % NUMBERS);
  }

  #grow(): void {
    const ring: (Call | undefined)[] = Array.from({ length: 2 * this.#ring.length }, () => undefined);
    for (let at = this.#first; at < this.#next; at++)
      ring[at % ring.length] = this.#ring[at % this.#ring.length];
    this.#ring = ring;
  }
}
