import { OwnerMap } from "./owner-map";

/**
 * A bound for all owners together, with a share (quota) for each owner. A share is smaller than the common bound, so
 * one owner alone (a noisy neighbour) can never cause the rejection of another owner.
 */
export interface Shares<Kind extends string> {
  /** The share of a single owner of each kind, and the maximum for all owners together (`all`). */
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
   * with the same owners and amount. Use `take` where creating a function for each request costs too much.
   */
  take(owners: Owners<Kind>, amount?: number): Kind | "all" | undefined;
  release(owners: Owners<Kind>, amount?: number): void;
}

export type Owners<Kind extends string> = Readonly<Partial<Record<Kind, string>>>;

/** The amounts of the owners of one kind. */
class Amounts {
  readonly #most: number;
  readonly #amounts = new OwnerMap(
    () => ({ amount: 0 }),
    ({ amount }) => amount === 0,
  );

  constructor(most: number) {
    this.#most = most;
  }

  hasRoom(owner: string, amount: number): boolean {
    return (this.#amounts.get(owner)?.amount ?? 0) + amount <= this.#most;
  }

  add(owner: string, amount: number): void {
    if (amount !== 0) this.#amounts.of(owner).amount += amount;
  }

  subtract(owner: string, amount: number): void {
    if (amount === 0) return;
    const known = this.#amounts.get(owner);
    if (known === undefined || known.amount < amount) throw new Error("an amount was released twice");
    known.amount -= amount;
    if (known.amount === 0) this.#amounts.idle(owner);
  }
}

/** @param max the share of a single owner of each kind, and the maximum for all owners together (`all`) */
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
