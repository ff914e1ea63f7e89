import type { Fact } from "./account";

/** Everything that is seen, in order, with counts of it by workspace. */
export type Facts = ReturnType<typeof createFacts>;

type Untimed = Fact extends infer Each ? (Each extends Fact ? Omit<Each, "at"> : never) : never;

export function createFacts() {
  const all: Fact[] = [];
  const counts = new Map<string, number>();
  return {
    all: all as readonly Fact[],
    add(fact: Untimed) {
      all.push({ ...fact, at: performance.now() });
      const name = `${fact.workspace} ${fact.saw}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    /** How many of a kind were seen of a workspace. */
    count: (workspace: string, saw: Fact["saw"]) => counts.get(`${workspace} ${saw}`) ?? 0,
  };
}
