import { LEASE_MS, type Leases, type Member } from "../ports/leases";
import { batchFunction } from "./function-batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asNumber, asText } from "./redis/reply";

const LEASES_AT_ONCE = 128;
/** The rule number in the answer of join_group while any member shares the shards by the older rule. */
const OLDER_RULE = 1;

/** @param membersMax maximum number of members of a group; 0 for no maximum */
export function createLeases(functions: Functions, keys: Keys, membersMax = 0): Leases {
  // A core renews the leases of all its shards in one turn of the event loop. These renewals share a batch, which needs
  // only one write to disk.
  const { one: take } = batchFunction<Pick<Member, "group" | "token">, boolean>(functions, keys, {
    name: "take_lease",
    most: Math.max(LEASES_AT_ONCE, keys.shards),
    toArguments: (members) => [String(LEASE_MS), ...members.flatMap(({ group, token }) => [group, token])],
    toOutputs: (reply) => asList(reply).map((taken) => asNumber(taken) === 1),
  });
  return {
    shards: keys.shards,
    async join({ group, name, token }, fresh, ageMs = 0) {
      const age = String(Math.round(ageMs));
      const args = [group, name, token, fresh ? "1" : "0", age, String(LEASE_MS), String(membersMax)];
      const [state, names] = asList(await functions.call("join_group", keys.prefixOf(group), args));
      if (names !== undefined)
        return { names: asText(names).split(" "), hasOlder: asNumber(state) === OLDER_RULE };
      return asNumber(state) < 0 ? "full" : "replaced";
    },
    async leave({ group, name, token }) {
      await functions.call("leave_group", keys.prefixOf(group), [group, name, token]);
    },
    take: ({ group, token }, shard) => take(shard, { group, token }),
    async drop({ group, token }, shard) {
      await functions.call("drop_lease", keys.prefix(shard), [group, token]);
    },
  };
}
