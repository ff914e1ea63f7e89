/** Length of the longest name that is remembered after the owner has become idle, in UTF-16 code units. */
const IDLE_NAME_MAX = 64;
/** Idle owners are forgotten after owners have become idle this many times for each owner in the map. */
const IDLE_TIMES_PER_OWNER = 16;
/**
 * Default for the minimum number of owners, and of times that owners became idle, at which idle owners are forgotten.
 */
const FORGET_AT = 1_024;

/**
 * Returns a copy of a name. Without a copy, a name that is a part of a URL would keep the whole URL in memory, e.g. 16
 * KB.
 */
function copyOf(name: string): string {
  return name.length > IDLE_NAME_MAX ? name : Buffer.from(name, "utf16le").toString("utf16le");
}

/**
 * A map with one value for each owner, e.g. for a workspace or a token. The map remembers idle owners for a while. The
 * map forgets idle owners when its size has doubled since it last did so. It also forgets idle owners when owners have
 * become idle 16 times as often as the map has owners. In both cases, the number of owners or times must be at least
 * `forgetAt`.
 *
 * If each request added and removed its owner, V8 would allocate a new hash table for the map every few requests. V8
 * often moves such a table to its old generation. There, unused tables keep each other, and objects of past requests,
 * in memory until the next full garbage collection. This collection then takes long.
 */
export class OwnerMap<Value> {
  readonly #values = new Map<string, Value>();
  readonly #create: () => Value;
  readonly #isIdle: (value: Value) => boolean;
  readonly #forgetAtLeast: number;
  #forgetAt: number;
  /** How many times owners have become idle since idle owners were last forgotten. */
  #idleTimes = 0;

  /**
   * @param create returns the value of an owner who is not in the map
   * @param isIdle returns whether the owner can be forgotten, because a new value could replace the owner's value
   */
  constructor(create: () => Value, isIdle: (value: Value) => boolean, forgetAt = FORGET_AT) {
    this.#create = create;
    this.#isIdle = isIdle;
    this.#forgetAtLeast = forgetAt;
    this.#forgetAt = forgetAt;
  }

  /** The number of owners, including the remembered ones. */
  get size(): number {
    return this.#values.size;
  }

  get(owner: string): Value | undefined {
    return this.#values.get(owner);
  }

  /** Returns the owner's value, and creates it if necessary. */
  of(owner: string): Value {
    const known = this.#values.get(owner);
    if (known !== undefined) return known;
    if (this.#values.size >= this.#forgetAt) this.#forgetIdle();
    const value = this.#create();
    this.#values.set(copyOf(owner), value);
    return value;
  }

  /** Must be called when an owner has become idle. An owner with a long name is forgotten immediately. */
  idle(owner: string): void {
    if (owner.length > IDLE_NAME_MAX) this.#values.delete(owner);
    this.#idleTimes += 1;
    const forgetAfter = Math.max(this.#forgetAtLeast, IDLE_TIMES_PER_OWNER * this.#values.size);
    if (this.#idleTimes > forgetAfter) this.#forgetIdle();
  }

  /** Returns the owners, including the remembered ones. The map may change during the iteration. */
  entries(): Iterable<readonly [string, Value]> {
    return this.#values;
  }

  #forgetIdle(): void {
    for (const [owner, value] of this.#values) if (this.#isIdle(value)) this.#values.delete(owner);
    this.#idleTimes = 0;
    this.#forgetAt = Math.max(this.#forgetAtLeast, 2 * this.#values.size);
  }
}
