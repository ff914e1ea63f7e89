import { asBytes } from "../../core/store/redis/reply";
import { keyOf, type TestStore } from "./store";

/**
 * The names of the facts about held events, in the order in which a workspace's state stores them in the field `facts`.
 */
const FACTS = ["gone", "oldest", "held", "total", "largest", "served", "before"] as const;
const FACT_BYTES = 8;

/**
 * Facts about the held events of a workspace, e.g. certain sequences, the number of events, and the size of the largest
 * event.
 */
export type HeldFacts = Readonly<Partial<Record<(typeof FACTS)[number], number>>>;

/** Reads the facts of a workspace that are not 0. */
export async function readFacts(store: TestStore, workspaceId: string): Promise<HeldFacts> {
  const stored = await store.redis.command("", ["HGET", keyOf(store, workspaceId, "st"), "facts"]);
  if (stored === null) return {};
  const packed = asBytes(stored);
  const facts = FACTS.map((name, i) => [name, packed.readDoubleLE(FACT_BYTES * i)] as const);
  return Object.fromEntries(facts.filter(([, value]) => value !== 0));
}

/**
 * Changes the stored facts of a workspace, as if a core of an older release had stored them. Facts that `changed` does
 * not contain stay the same.
 */
export async function storeFacts(store: TestStore, workspaceId: string, changed: HeldFacts): Promise<void> {
  const facts = { ...(await readFacts(store, workspaceId)), ...changed };
  const packed = Buffer.alloc(FACT_BYTES * FACTS.length);
  for (const [i, name] of FACTS.entries()) packed.writeDoubleLE(facts[name] ?? 0, FACT_BYTES * i);
  await store.redis.command("", ["HSET", keyOf(store, workspaceId, "st"), "facts", packed]);
}
