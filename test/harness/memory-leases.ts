import { LEASE_MS, type Leases } from "../../core/ports/leases";
import { StoreUnavailable } from "../../core/ports/store-unavailable";

export type MemoryLeases = ReturnType<typeof createMemoryLeases>;

/** Leases in memory, by the process's clock, which may be a test's; while it is away, every call fails. */
export function createMemoryLeases(shards: number) {
  const leases = new Map<number, { readonly token: string; readonly until: number }>();
  const members = new Map<string, number>();
  const state = { away: false };
  const answer = async <T>(value: () => T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (state.away) throw new StoreUnavailable("away");
    return value();
  };
  /** The token that has a shard, if any has it now. */
  const holder = (shard: number): string | undefined => {
    const lease = leases.get(shard);
    return lease !== undefined && lease.until > performance.now() ? lease.token : undefined;
  };
  const store: Leases = {
    shards,
    join: ({ name }) =>
      answer(() => {
        members.set(name, performance.now());
        for (const [each, seen] of members) if (performance.now() - seen > LEASE_MS) members.delete(each);
        return [...members.keys()].toSorted();
      }),
    leave: ({ name }) => answer(() => void members.delete(name)),
    take: ({ token }, shard) =>
      answer(() => {
        if ((holder(shard) ?? token) !== token) return false;
        leases.set(shard, { token, until: performance.now() + LEASE_MS });
        return true;
      }),
    drop: ({ token }, shard) =>
      answer(() => {
        if (holder(shard) === token) leases.delete(shard);
      }),
  };
  /** Gives a shard to somebody else, for good. */
  const steal = (shard: number): void => void leases.set(shard, { token: "a thief", until: Infinity });
  return { store, state, members, holder, steal };
}
