import type { Fact } from "./account";

/** All observed facts in order, and the number of facts per workspace and kind. */
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
    /** The number of facts of a kind for a workspace. */
    count: (workspace: string, saw: Fact["saw"]) => counts.get(`${workspace} ${saw}`) ?? 0,
  };
}
