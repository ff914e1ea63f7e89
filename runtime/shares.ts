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
  acquire(owners: Readonly<Partial<Record<Kind, string>>>, amount?: number): (() => void) | Kind | "all";
}

/** @param max for each kind, the share of a single owner, and the maximum for all owners together (`all`) */
export function createShares<Name extends string>(
  max: Readonly<Record<Name | "all", number>>,
): Shares<Exclude<Name, "all">> {
  type Kind = Exclude<Name, "all">;
  const kinds = (Object.keys(max) as Name[]).filter((kind): kind is Kind => kind !== "all");
  /** Contains only owners that have acquired something. */
  const usedBy = kinds.map((kind) => ({ kind, amounts: new Map<string, number>() }));
  let used = 0;

  function change(owners: Readonly<Partial<Record<Kind, string>>>, amount: number): void {
    used += amount;
    for (const { kind, amounts } of usedBy) {
      const owner = owners[kind];
      if (owner === undefined) continue;
      const sum = (amounts.get(owner) ?? 0) + amount;
      if (sum === 0) amounts.delete(owner);
      else amounts.set(owner, sum);
    }
  }

  return {
    max,
    get used() {
      return used;
    },
    acquire(owners, amount = 1) {
      for (const { kind, amounts } of usedBy) {
        const owner = owners[kind];
        if (owner !== undefined && (amounts.get(owner) ?? 0) + amount > max[kind]) return kind;
      }
      if (used + amount > max.all) return "all";
      change(owners, amount);
      let isHeld = true;
      return () => {
        if (isHeld) change(owners, -amount);
        isHeld = false;
      };
    },
  };
}
