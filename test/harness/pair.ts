import { startRig } from "./rig";

export type TestPair = Awaited<ReturnType<typeof startPair>>;

const two = <T>([one, other]: readonly T[]) => [one, other] as readonly [T, T];

/**
 * Starts two cores on one Redis, and two edges that use both cores. A test can write through one core or edge, and read
 * through the other.
 */
export async function startPair(redisUrl: string, settings: Readonly<Record<string, string>> = {}) {
  const redis = { url: redisUrl, close: async () => undefined };
  const { cores, edges, ...rig } = await startRig(async () => redis, { settings });
  return {
    ...rig,
    cores: two(cores.map(({ process }) => process)),
    clients: two(cores.map(({ clients }) => clients)),
    urls: two(edges.map(({ url }) => url)),
  };
}
