import { LEASE_MS } from "../ports/leases";
import type { Groups } from "../ports/follow-log";
import { byShard } from "./batch";
import type { Functions } from "./functions";
import type { Keys } from "./keys";
import { asList, asNumber, asText } from "./redis/reply";

export function createGroups(functions: Functions, keys: Keys): Groups {
  const { registry, prefixes } = keys;

  async function list() {
    return asList(await functions.call("list_groups", registry, [])).map((group) => {
      const [name, token, seen] = asList(group).map(asText);
      return { group: name ?? "", tokenName: token || undefined, lastMemberAtMs: Number(seen) };
    });
  }

  /** Returns the number of live members of each group that has any. */
  async function countMembers(groups: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const members = groups.map((name) => ({ shard: keys.shard(name), name }));
    const counting = byShard(members).map(async ([shard, ofShard]) => {
      const names = ofShard.map(({ name }) => name);
      const args = [String(LEASE_MS), ...names];
      const found = asList(await functions.call("count_members", keys.prefix(shard), args));
      for (const [i, name] of names.entries()) {
        const count = asNumber(found[i] ?? null);
        if (count > 0) counts.set(name, count);
      }
    });
    await Promise.all(counting);
    return counts;
  }

  /** Adds to the registry the groups that only the logs contain, because an older release opened them. */
  async function adopt(): Promise<void> {
    const names = await Promise.all(prefixes.map((prefix) => functions.call("group_names", prefix, [])));
    const known = new Set((await list()).map(({ group }) => group));
    const found = new Set(names.flatMap((each) => asList(each).map(asText)));
    const unknown = [...found].filter((group) => !known.has(group));
    if (unknown.length > 0) await functions.call("adopt_groups", registry, unknown);
  }

  return {
    async refresh() {
      await adopt();
      const groups = await list();
      const counts = await countMembers(groups.map(({ group }) => group));
      if (counts.size > 0) await functions.call("touch_groups", registry, [...counts.keys()]);
      return groups.map((each) => ({ ...each, members: counts.get(each.group) ?? 0 }));
    },
    async remove(group, idleMs) {
      const [mark, isIdle] = asList(await functions.call("begin_removal", registry, [group, String(idleMs)]));
      if (mark === undefined) return "missing";
      const marked = asText(mark);
      const isHeld = (await countMembers([group])).size > 0;
      if (!isHeld) {
        await Promise.all(prefixes.map((prefix) => functions.call("drop_group", prefix, [group, marked])));
      }
      await functions.call("end_removal", registry, [group, marked, isHeld ? "1" : "0"]);
      if (isHeld) return "held";
      return asNumber(isIdle) === 1 ? "removed" : "completed";
    },
  };
}
