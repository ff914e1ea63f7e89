/**
 * A bound for all owners together, with a share (quota) for each owner. A share is smaller than the common bound, so
 * one owner alone (a noisy neighbour) can never cause the rejection of another owner.
 */
export interface Shares<Kind extends string> {
  /** The maximum for all owners together (`all`), and for each kind, the share of a single owner. */
  readonly max: Readonly<Record<Kind | "all", number>>;
  /** The amount that all owners together have acquired and not released. */
  readonly used: number;
  /**
   * Acquires `amount` for one owner of each kind, e.g. for a token and an address. A kind that `owners` omits is not
   * checked. Returns the function that releases `amount`; only its first call has an effect. If there is no room,
   * acquires nothing, and returns the kind whose share is full, or `all`.
   */
  acquire(owners: Owners<Kind>, amount?: number): (() => void) | Kind | "all";
  /**
   * Acquires as `acquire` does, but returns undefined if there is room. The caller must then call `release` exactly once
   * with the same owners and amount. Use this where creating a function for each request costs too much.
   */
  take(owners: Owners<Kind>, amount?: number): Kind | "all" | undefined;
  release(owners: Owners<Kind>, amount?: number): void;
}

export type Owners<Kind extends string> = Readonly<Partial<Record<Kind, string>>>;

/**
 * Maximum number of owners without an acquired amount that are remembered, and maximum length of their names. If each
 * release removed its owner from the map, the map would soon need a new table. Old tables, which V8 often moves to its
 * old generation, keep other objects in memory until a full garbage collection.
 */
const IDLE_MAX = 1_024;
const IDLE_NAME_MAX = 64;

/** Returns a copy of a name. A name that is part of a URL would keep the whole URL in memory, e.g. 16 KB. */
function copyOf(name: string): string {
  return name.length > IDLE_NAME_MAX ? name : Buffer.from(name, "utf16le").toString("utf16le");
}

/** The amounts of the owners of one kind. */
class Amounts {
  readonly #most: number;
  readonly #amounts = new Map<string, { amount: number }>();
  #idle = 0;

  constructor(most: number) {
    this.#most = most;
  }

  hasRoom(owner: string, amount: number): boolean {
    return (this.#amounts.get(owner)?.amount ?? 0) + amount <= this.#most;
  }

  add(owner: string, amount: number): void {
    if (amount === 0) return;
    const known = this.#amounts.get(owner);
    if (known === undefined) this.#amounts.set(copyOf(owner), { amount });
    else {
      if (known.amount === 0) this.#idle -= 1;
      known.amount += amount;
    }
  }

  subtract(owner: string, amount: number): void {
    if (amount === 0) return;
    const known = this.#amounts.get(owner);
    if (known === undefined || known.amount < amount) throw new Error("an amount was released twice");
    known.amount -= amount;
    if (known.amount > 0) return;
    if (owner.length > IDLE_NAME_MAX) this.#amounts.delete(owner);
    else if (++this.#idle > IDLE_MAX) this.#forgetIdle();
  }

  #forgetIdle(): void {
    for (const [owner, { amount }] of this.#amounts) if (amount === 0) this.#amounts.delete(owner);
    this.#idle = 0;
  }
}

/** @param max for each kind, the share of a single owner, and the maximum for all owners together (`all`) */
export function createShares<Name extends string>(
  max: Readonly<Record<Name | "all", number>>,
): Shares<Exclude<Name, "all">> {
  type Kind = Exclude<Name, "all">;
  const kinds = (Object.keys(max) as Name[]).filter((kind): kind is Kind => kind !== "all");
  const usedBy = kinds.map((kind) => ({ kind, amounts: new Amounts(max[kind]) }));
  let used = 0;

  function take(owners: Owners<Kind>, amount = 1): Kind | "all" | undefined {
    for (const { kind, amounts } of usedBy) {
      const owner = owners[kind];
      if (owner !== undefined && !amounts.hasRoom(owner, amount)) return kind;
    }
    if (used + amount > max.all) return "all";
    used += amount;
    for (const { kind, amounts } of usedBy) {
      const owner = owners[kind];
      if (owner !== undefined) amounts.add(owner, amount);
    }
    return undefined;
  }

  function release(owners: Owners<Kind>, amount = 1): void {
    for (const { kind, amounts } of usedBy) {
      const owner = owners[kind];
      if (owner !== undefined) amounts.subtract(owner, amount);
    }
    used -= amount;
  }

  return {
    max,
    get used() {
      return used;
    },
    take,
    release,
    acquire(owners, amount = 1) {
      const full = take(owners, amount);
      if (full !== undefined) return full;
      let isHeld = true;
      return () => {
        if (isHeld) release(owners, amount);
        isHeld = false;
      };
    },
  };
}
