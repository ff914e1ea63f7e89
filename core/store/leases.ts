import { LEASE_MS, type Leases } from "../ports/leases";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asNumber, asText } from "./reply";

/** @param membersMax how many members a group may have; 0 for any number */
export function createLeases(functions: Functions, keys: Keys, membersMax = 0): Leases {
  /** The register of a group is kept on one shard. */
  const register = (group: string): string => keys.prefix(keys.shard(group));
  return {
    shards: keys.shards,
    async join({ group, name, token }, fresh, ageMs = 0) {
      const age = String(Math.round(ageMs));
      const args = [group, name, token, fresh ? "1" : "0", age, String(LEASE_MS), String(membersMax)];
      const [state, names] = asList(await functions.call("join_group", register(group), args));
      if (names !== undefined) return asText(names).split(" ");
      return asNumber(state) < 0 ? "full" : "replaced";
    },
    async leave({ group, name, token }) {
      await functions.call("leave_group", register(group), [group, name, token]);
    },
    async take({ group, token }, shard) {
      const taken = await functions.call("take_lease", keys.prefix(shard), [group, token, String(LEASE_MS)]);
      return asNumber(taken) === 1;
    },
    async drop({ group, token }, shard) {
      await functions.call("drop_lease", keys.prefix(shard), [group, token]);
    },
  };
}
