import { LEASE_MS, type Leases, type Member } from "../../core/ports/leases";
import { StoreUnavailable } from "../../core/ports/store-faults";

export type MemoryLeases = ReturnType<typeof createMemoryLeases>;

/**
 * Creates a store of leases in memory, which also lists the members and the holders of shards. Leases expire according
 * to the process's clock, which a test can fake.
 */
export function createLeaseBook(leaseMs: number) {
  const leases = new Map<number, { readonly token: string; readonly until: number }>();
  const members = new Map<string, { token: string; seen: number; began: number; isOlder: boolean }>();
  const now = (): number => performance.now();
  /** Returns the token of the member that holds a shard now, or undefined. */
  const holder = (shard: number): string | undefined => {
    const lease = leases.get(shard);
    return lease !== undefined && lease.until > now() ? lease.token : undefined;
  };
  return {
    leases,
    members,
    holder,
    join({ name, token }: Member, fresh: boolean, ageMs = 0, isOlder = false) {
      const known = members.get(name);
      const began = now() - ageMs;
      const isNewer = fresh && began >= (known?.began ?? 0);
      const mine = isNewer || known === undefined || known.token === token;
      if (mine) members.set(name, { token, seen: now(), began, isOlder });
      for (const [each, { seen }] of members) if (now() - seen > leaseMs) members.delete(each);
      if (!mine) return "replaced";
      return {
        names: [...members.keys()].toSorted(),
        hasOlder: [...members.values()].some((each) => each.isOlder),
      };
    },
    leave({ name, token }: Member) {
      if (members.get(name)?.token === token) members.delete(name);
    },
    take({ token }: Member, shard: number) {
      if ((holder(shard) ?? token) !== token) return false;
      leases.set(shard, { token, until: now() + leaseMs });
      return true;
    },
    drop({ token }: Member, shard: number) {
      if (holder(shard) === token) leases.delete(shard);
    },
  };
}

/** Creates leases in memory. While `state.away` is true, every call fails with StoreUnavailable. */
export function createMemoryLeases(shards: number) {
  const book = createLeaseBook(LEASE_MS);
  const { leases, members, holder } = book;
  const state = { away: false };
  const answer = async <T>(value: () => T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (state.away) throw new StoreUnavailable("unavailable");
    return value();
  };
  const storeOf = (isOlder: boolean): Leases => ({
    shards,
    join: (member, fresh, ageMs) => answer(() => book.join(member, fresh, ageMs, isOlder)),
    leave: (member) => answer(() => book.leave(member)),
    take: (...what) => answer(() => book.take(...what)),
    drop: (...what) => answer(() => book.drop(...what)),
  });
  /** Gives a shard to another holder, whose lease never expires. */
  const steal = (shard: number): void => void leases.set(shard, { token: "a thief", until: Infinity });
  return {
    store: storeOf(false),
    /** The leases, as members of an older release use them. */
    olderStore: storeOf(true),
    state,
    members,
    holder,
    steal,
  };
}
